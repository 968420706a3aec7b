# For scripts that run ncu, which read this file: sets `ncu`, after the program has shown that there is
# a GPU. Ends the script with exit code 2 and one sentence otherwise. `program` is the program; empty:
# the caller knows that there is a GPU.
[ -z "$program" ] || "$program" --device gpu --size 1 --reps 1 >/dev/null
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null) || {
  echo "$0: there is no ncu on the PATH; install NVIDIA Nsight Compute" >&2
  exit 2
}
