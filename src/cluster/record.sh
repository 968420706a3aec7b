#!/bin/sh
# Writes results/gpus-*.txt for this machine's GPUs, each one completely or not at all:
# src/cluster/record.sh PROGRAM
set -eu
export COLUMNS=100 # of a recorded table, on every terminal

program=$1
results=$(dirname "$(dirname "$(dirname "$0")")")/results
results=${results#./}
names=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null) || names=
gpus=$(printf '%s' "$names" | grep -c .) || :
[ "$gpus" -gt 0 ] || {
  echo "$0: there is no NVIDIA GPU here (nvidia-smi names none), so there is nothing to record" >&2
  exit 2
}
gpu=$(printf '%s\n' "$names" | head -n 1 | sed -E 's/(NVIDIA|GeForce|Tesla) //g' | tr 'A-Z ' 'a-z-')
trap 'rm -f "$results"/gpus-*.tmp' EXIT

# The remaining arguments are those of the program.
record() {
  file=$results/gpus-$gpu-$1
  shift
  echo "$file.txt" >&2
  "$program" "$@" > "$file.tmp"
  mv "$file.tmp" "$file.txt"
}

# For 1, 2, 4, ... GPUs: the same product for all (strong scaling), and one with as much work for
# each (weak scaling).
n=1
while [ "$n" -le "$gpus" ]; do
  record "$n-strong" --gpus "$n" --size 16384
  for size in 1024 2048 4096 8192; do
    record "$n-$size-strong" --gpus "$n" --size "$size" --stage 0
  done
  record "$n-large" --gpus "$n" --size 32768 --reps 4
  [ "$n" = 1 ] || record "$n-weak" --gpus "$n" --m 16384 --n $((n * 16384)) --k 16384
  record "$n-host" --gpus "$n" --size 16384 --resident host
  n=$((2 * n))
done
