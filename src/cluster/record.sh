#!/bin/bash
# Writes results/gpus-*.txt for this machine's GPUs, each one completely or not at all:
# src/cluster/record.sh PROGRAM [SECONDS]
# What matters most comes first, and after SECONDS nothing more is begun.
set -eu
export COLUMNS=100 # of a recorded table, on every terminal

program=$1
limit=${2:-100000}
results=$(dirname "$(dirname "$(dirname "$0")")")/results
results=${results#./}
names=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null) || names=
gpus=$(printf '%s' "$names" | grep -c .) || :
[ "$gpus" -gt 0 ] || {
  echo "$0: there is no NVIDIA GPU here (nvidia-smi names none), so there is nothing to record" >&2
  exit 2
}
gpu=$(printf '%s\n' "$names" | head -n 1 | sed -E 's/(NVIDIA|GeForce|Tesla) //g; s/ [0-9]+GB.*//' | tr 'A-Z ' 'a-z-')
trap 'rm -f "$results"/*.tmp' EXIT
failed=0

# The first argument is the file's name; what follows is run, if there are so many GPUs.
record() {
  file=$results/$1-$gpu-$2.txt count=$3
  shift 3
  [ "$count" -le "$gpus" ] || return 0
  before=$SECONDS
  if [ "$SECONDS" -ge "$limit" ]; then
    echo "$file: left out, after $limit s" >&2
  elif timeout $((limit - SECONDS)) "$@" > "$file.tmp" < /dev/null; then
    mv "$file.tmp" "$file"
    echo "$file: $((SECONDS - before)) s" >&2
  else
    echo "$file: $((SECONDS - before)) s, FAILED with exit code $?" >&2
    failed=1
  fi
}
product() {
  name=$1 n=$2
  shift 2
  record gpus "$n-$name" "$n" "$program" --gpus "$n" --no-color "$@"
}

# The headlines, with a row for each width of panels; a product for which eight GPUs do not pay; the
# same products on fewer GPUs; with as much work for each GPU; from the host; and small ones.
product large 8 --size 32768 --reps 4
product strong 4 --size 16384
product strong 8 --size 16384
for n in 8 4 2 1; do product 4097-strong "$n" --size 4097 --stage 0; done
product strong 1 --size 16384
product strong 2 --size 16384
product large 4 --size 32768 --reps 4
product large 1 --size 32768 --reps 4
product host 8 --size 16384 --resident host
product host 2 --size 16384 --resident host
for n in 8 4 2 1; do product 8192-strong "$n" --size 8192 --stage 0; done
if [ "$gpus" = 1 ]; then
  echo "one GPU: nothing to run under mpirun" >&2
elif command -v mpirun > /dev/null; then
  record mpirun "$gpus" "$gpus" \
    mpirun --allow-run-as-root --oversubscribe -n "$gpus" "$program" --no-color --size 16384
else
  echo "there is no mpirun here, so one process for each GPU is left out; install openmpi-bin" >&2
fi
product large 2 --size 32768 --reps 4
product weak 8 --m 16384 --n 131072 --k 16384 --reps 4
for size in 4096 2048 1024; do
  for n in 8 4 2 1; do product $size-strong "$n" --size $size --stage 0; done
done
for n in 1 4; do product host "$n" --size 16384 --resident host; done
for n in 4 2; do product weak "$n" --m 16384 --n $((n * 16384)) --k 16384; done

echo "$SECONDS s in all" >&2
exit $failed
