#!/bin/bash
# profile_file.sh YOURS FLAGS... [-- ARGUMENTS...]: prints ncu's counts of the kernels in your own
# file, named by KERNEL, beside the traced ones. YOURS is what try.sh built of it. Of each kernel of a whole program the
# first launch is compared. Exits with 1 if the two do not agree, and with 2 and one sentence if there
# is no ncu, or no permission to read the counters.
set -eu
yours=$(realpath "$1")
shift
program= # `make` has found the GPU
. "$(dirname "$0")/find_ncu.sh"
csv=$(mktemp)
trap 'rm -f "$csv"' EXIT
metrics=$("$yours" --ncu-metrics counts)
count() {
  "$ncu" --csv --page raw --print-units base --clock-control none --metrics "$metrics" "$@" \
    >"$csv" 2>&1 </dev/null || grep -q '^"' "$csv" || {
    echo "$0: ncu failed: $(grep -m 1 '==ERROR==' "$csv" || tail -n 1 "$csv")" >&2
    exit 2
  }
}
if [ -x "$yours.on_gpu" ]; then
  ( # with the words behind --, in the folder of its file
    while [ $# != 0 ] && [ "$1" != -- ]; do shift; done
    [ $# = 0 ] || shift
    cd "$(dirname "$KERNEL")"
    count --launch-count 1000 "$yours.on_gpu" "$@"
  )
else
  set -- --size 256 "$@" # on a GPU the default is larger
  count "$yours" --device gpu --reps 1 --hazards off "$@"
fi
"$ncu" --version | tail -n 1 | sed 's/^/ncu      /'
"$yours" --trace all --ncu "$csv" "$@"
