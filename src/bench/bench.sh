#!/bin/bash
# bench.sh PROGRAM BENCH FILE: times the ladder, cuBLAS, the CPU's references and OpenBLAS, writes
# the times to FILE as CSV, and prints them. From the environment:
#   SIZES="1024 4096"   the sizes
#   FORMAT=csv          prints CSV in place of the table
# Exit codes: 0; 2 if it could not be done.
set -uo pipefail
program=$1 bench=$2 file=$3
sizes=${SIZES:-1024 2048 4096} format=${FORMAT:-table}
refuse() { echo "bench: $*" >&2; exit 2; }

case $format in
  table | csv) ;;
  *) refuse "FORMAT=$format: give FORMAT=csv, or leave it out for a table" ;;
esac
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

# For each size, all rows that the CPU and the GPU can run.
parts=()
for size in $sizes; do
  echo "$size x $size x $size" >&2
  "$bench" cpu "$size" > "$work/cpu-$size.csv" || exit 2
  parts+=("$work/cpu-$size.csv")
  [ -n "$on_gpu" ] || continue
  # Exit code 1 is a result that fails its check: its time is still one.
  "$program" --device gpu --trace none --stage 1- --size "$size" --format csv > "$work/run-$size.csv"
  [ $? -le 1 ] || exit 2
  "$bench" ladder "$work/run-$size.csv" > "$work/gpu-$size.csv" || exit 2
  parts+=("$work/gpu-$size.csv")
done

"$bench" join "${parts[@]}" > "$work/bench.csv" || exit 2
mkdir -p -- "$(dirname -- "$file")" && cp -- "$work/bench.csv" "$file.tmp" && mv -- "$file.tmp" "$file" ||
  refuse "$file: cannot be written"
if [ "$format" = csv ]; then
  cat "$file"
else
  "$bench" table "$file" || exit 2
fi
