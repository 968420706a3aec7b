#!/bin/bash
# Writes the tables of results/ for this machine's GPU, each one completely or not at all, and the
# runs of the ladder also as JSON:
# src/lab/record.sh PROGRAM BENCH LATENCY
# ONLY="4096 latency" in the environment limits it to these tables.
set -eu
export COLUMNS=100 # of a recorded table, on every terminal

program=$1
bench=$2
latency=$3
lab=$(dirname "$0")
src=$(dirname "$lab")
results=$(dirname "$src")/results
results=${results#./}
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 |
  sed -E 's/(NVIDIA|GeForce|Tesla) //g' | tr 'A-Z ' 'a-z-') || :
[ -n "$gpu" ] || {
  echo "$0: there is no NVIDIA GPU here (nvidia-smi names none), so there is nothing to record" >&2
  exit 2
}
trap 'rm -f "$results/$gpu"-*.tmp' EXIT

# The remaining arguments are the command to run.
record() {
  case " ${ONLY:-$1} " in *" $1 "*) ;; *) return 0 ;; esac
  file=$results/$gpu-$1
  shift
  echo "$file.txt" >&2
  "$@" >"$file.tmp"
  mv "$file.tmp" "$file.txt"
}

# A run of the ladder, with its JSON.
record_ladder() {
  name=$1
  shift
  record "$name" "$program" --device gpu "$@" --no-color --json "$results/$gpu-$name.json"
}

record_ladder 4096 --size 4096
# Only times: tracing these sizes takes much longer than measuring them.
for size in 512 1024 2048 8192 4095; do
  record_ladder $size --trace none --size $size
done
record_ladder 8192x4096x2048 --trace none --m 8192 --n 4096 --k 2048
# The contrast to stage 16, beside cuBLAS with bf16.
for size in 4096 8192; do
  record_ladder bf16-$size --trace none --stage 16 --variant bf16-128x256x64 --size $size
done
# Few results for what is read: tiles for few rows, and parts of K.
for sides in "1 8192 8192" "8 8192 8192" "16 8192 8192" "32 8192 8192" "64 8192 8192" \
  "128 8192 8192" "8192 16 8192" "16 28672 8192" "64 64 65536" "256 256 16384"; do
  set -- $sides
  record "few-$1x$2x$3" "$program" --device gpu --no-color --trace none --stage 11- --m "$1" --n "$2" --k "$3"
done
# These are small, so each stage's first variant, which the lesson is about, has to be named.
record ncu-256 "$src/profile/profile.sh" counts "$program" --stage 1- --variant first --size 256
# First a size where no row is 16-byte aligned, then one where all rows are but no tile divides the
# matrices.
record ncu-251x509x127 "$src/profile/profile.sh" counts "$program" --stage 1- --variant first --m 251 --n 509 --k 127 --beta 1.5
record ncu-252x508x132 "$src/profile/profile.sh" counts "$program" --stage 1- --variant first --m 252 --n 508 --k 132 --beta 1.5
record ncu-shapes "$src/profile/profile.sh" shapes "$program" 40 1
record ceilings-4096 "$src/profile/profile.sh" units "$program" --stage 1- --size 4096
record ncu-report-4096 "$src/profile/profile.sh" report "$program" 4096 2 5 11
record ncu-swapped-grid "$src/profile/profile.sh" caches "$program" --experiment swapped-grid
# The grid's order of blocks, and the bands of stage 11.
record ncu-caches-grid "$src/profile/profile.sh" caches "$program" --stage 10 --size 8192
record ncu-caches-bands "$src/profile/profile.sh" caches "$program" --stage 11 --variant 128x256x8-ordered --size 8192
record accuracy "$lab/accuracy.sh" "$program" 1024 4096 8192
record coarsening-loads "$src/profile/profile.sh" loads "$program"
for name in coarsening block-shape swapped-grid tile-sizes padding stages one-change shapes occupancy; do
  record experiment-$name "$program" --device gpu --experiment $name --reps 10 --no-color
done
record experiment-occupancy-stage-9 "$program" --device gpu --experiment occupancy --stage 9 --variant 64x64x8 --no-color
record latency "$latency"
record host-cpu "$bench" steps
