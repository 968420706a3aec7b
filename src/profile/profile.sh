#!/bin/bash
# Prints ncu's counts on this machine's GPU beside the program's own:
#   src/profile/profile.sh counts PROGRAM FLAGS...   every kind of access, beside the traced ones
#   src/profile/profile.sh units PROGRAM FLAGS...    how busy each unit is, beside the ceilings
#   src/profile/profile.sh caches PROGRAM FLAGS...   hit rates of L1 and L2, below the times
# FLAGS choose stages and sizes, as for PROGRAM, and for caches also an experiment. Exits with 1 if
# the two do not agree, and with 2 and one sentence if there is no GPU, no ncu, or no permission to
# read the counters.
set -eu

what=$1
program=$2
shift 2

. "$(dirname "$0")/find_ncu.sh"
csv=$(mktemp)
trap 'rm -f "$csv"' EXIT

metrics=$("$program" --ncu-metrics "$what")
once=
untraced="--trace none" # nobody reads what the program prints under ncu
again=
case $what in
  counts)
    once="--filter-mode per-launch-config --launch-count 1" # a warm-up and repetitions are equal
    again="--reps 1 --trace all"
    ;;
  caches) untraced= again=--no-color ;; # an experiment takes no --trace
esac
"$ncu" --csv --page raw --print-units base --clock-control none --metrics "$metrics" $once \
  "$program" --device gpu --reps 1 --hazards off $untraced "$@" >"$csv" 2>&1 || {
  echo "$0: ncu failed: $(grep -m 1 '==ERROR==' "$csv" || tail -n 1 "$csv")" >&2
  exit 2
}
"$ncu" --version | tail -n 1 | sed 's/^/ncu      /'
"$program" --device gpu $again "$@" --ncu "$csv"
