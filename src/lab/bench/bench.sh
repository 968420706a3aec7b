#!/bin/bash
# bench.sh PROGRAM BENCH FILE: times the ladder, cuBLAS, the CPU's references and OpenBLAS, writes
# the times to FILE as CSV, and prints them. From the environment:
#   SIZES="1024 4096"   the sizes
#   FORMAT=csv          prints CSV in place of the table
#   BASE=old.csv        then says what moved since that bench
#   BASE=old.csv NEW=new.csv   only that, of two benches, without timing anything
#   BASE=folder         what moved since another checkout, which is built and timed in turn
# Exit codes: 0; 1 if something got slower; 2 if it could not be done.
set -uo pipefail
program=$1 bench=$2 file=$3
sizes=${SIZES:-1024 2048 4096} format=${FORMAT:-table} base=${BASE:-} new=${NEW:-}
refuse() { echo "bench: $*" >&2; exit 2; }

case $format in
  table) ;;
  csv) [ -z "$base" ] || refuse "FORMAT=csv: what moved has no CSV; leave FORMAT or BASE out" ;;
  *) refuse "FORMAT=$format: give FORMAT=csv, or leave it out for a table" ;;
esac
[ -z "$new" ] || [ -n "$base" ] || refuse "NEW=$new: what it is compared with is missing; give BASE=old.csv, too"
if [ -n "$new" ]; then
  [ ! -d "$base" ] || refuse "BASE=$base: is a folder; NEW=$new is compared with a CSV"
  exec "$bench" compare "$base" "$new"
fi
if [ -d "$base" ]; then
  [ -e "$base/src/lab/bench/bench.sh" ] || refuse "BASE=$base: has no make bench; give a checkout that has it, or a CSV"
elif [ -n "$base" ] && [ ! -f "$base" ]; then
  refuse "BASE=$base: no such file or folder; give the CSV of a bench, or another checkout"
fi
"$bench" sizes $sizes || exit 2

work=$(mktemp -d) || exit 2
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM
on_gpu=
if "$program" --device gpu --list > /dev/null 2>&1; then
  on_gpu=1
else
  echo "No GPU: the stages have no times. What a CPU can run is timed." >&2
fi

# time_size SIZE: appends CSV files to the array `parts`.
parts=()
time_size() {
  echo "$1 x $1 x $1" >&2
  "$bench" cpu "$1" > "$work/cpu-$1.csv" || exit 2
  parts+=("$work/cpu-$1.csv")
  [ -n "$on_gpu" ] || return 0
  # Exit code 1 is a result that fails its check: its time is still one.
  "$program" --device gpu --trace none --stage 1- --size "$1" --format csv > "$work/run-$1.csv"
  [ $? -le 1 ] || exit 2
  "$bench" ladder "$work/run-$1.csv" > "$work/gpu-$1.csv" || exit 2
  parts+=("$work/gpu-$1.csv")
}
# The same by the other checkout.
base_parts=()
time_base() {
  env -u MAKEFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u MFLAGS -u BASE -u NEW -u BUILD \
    make -C "$base" -s --no-print-directory bench SIZES="$1" FORMAT=csv ${MAKE_FLAGS:-} \
    > "$work/base-$1.csv" || refuse "BASE=$base: make bench failed there"
  base_parts+=("$work/base-$1.csv")
}
for size in $sizes; do
  [ ! -d "$base" ] || time_base "$size"
  time_size "$size"
done

"$bench" join "${parts[@]}" > "$work/bench.csv" || exit 2
mkdir -p -- "$(dirname -- "$file")" && cp -- "$work/bench.csv" "$file.tmp" && mv -- "$file.tmp" "$file" ||
  refuse "$file: cannot be written"
if [ "$format" = csv ]; then
  cat "$file"
else
  "$bench" table "$file" || exit 2
fi
[ -n "$base" ] || exit 0
if [ -d "$base" ]; then
  "$bench" join "${base_parts[@]}" > "$work/base.csv" || exit 2
  base=$work/base.csv
fi
echo
"$bench" compare "$base" "$file"
