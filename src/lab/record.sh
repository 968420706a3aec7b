#!/bin/sh
# Writes the tables of results/ for this machine's GPU, each one completely or not at all:
# src/lab/record.sh PROGRAM BENCH_CPU LATENCY
set -eu
export COLUMNS=100 # of a recorded table, on every terminal

program=$1
bench_cpu=$2
latency=$3
lab=$(dirname "$0")
src=$(dirname "$lab")
results=$(dirname "$src")/results
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 |
  sed 's/NVIDIA //' | tr 'A-Z ' 'a-z-') || :
[ -n "$gpu" ] || {
  echo "$0: there is no NVIDIA GPU here (nvidia-smi names none), so there is nothing to record" >&2
  exit 2
}
trap 'rm -f "$results/$gpu"-*.tmp' EXIT

# The remaining arguments are the command to run.
record() {
  file=$results/$gpu-$1
  shift
  echo "$file.txt" >&2
  "$@" >"$file.tmp"
  mv "$file.tmp" "$file.txt"
}

for size in 1024 4096 8192; do
  record $size "$program" --device gpu --size $size --no-color
done
# These are small, so each stage's first variant, which the lesson is about, has to be named.
record ncu-256 "$src/profile/profile.sh" counts "$program" --stage 1- --variant first --size 256
# First a size where no row is 16-byte aligned, then one where all rows are but no tile divides the
# matrices.
record ncu-251x509x127 "$src/profile/profile.sh" counts "$program" --stage 1- --variant first --m 251 --n 509 --k 127 --beta 1.5
record ncu-252x508x132 "$src/profile/profile.sh" counts "$program" --stage 1- --variant first --m 252 --n 508 --k 132 --beta 1.5
record ceilings-4096 "$src/profile/profile.sh" units "$program" --stage 1- --size 4096
record ncu-report-4096 "$src/profile/report.sh" "$program" 4096 2 5 9
record ncu-swapped-grid "$src/profile/profile.sh" caches "$program" --experiment swapped-grid
record coarsening-loads "$src/profile/coarsening_loads.sh" "$program"
for name in coarsening block-shape swapped-grid tile-sizes padding stages one-change shapes occupancy; do
  record experiment-$name "$program" --device gpu --experiment $name --reps 10 --no-color
done
record experiment-occupancy-stage-9 "$program" --device gpu --experiment occupancy --stage 9 --no-color
record latency "$latency"
record host-cpu "$bench_cpu"
