#!/bin/sh
# Records what nvcc makes of every kernel of gemm_steps.cu, for each architecture:
#   model/record_registers.sh NVCC [OUTPUT [SOURCE]]
# OUTPUT is model/registers.inc, which model/registers.cpp includes, and SOURCE is gemm_steps.cu,
# both of this project. OUTPUT is replaced as a whole or not at all. Needs awk and c++filt.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
nvcc=${1:?"the first argument is missing: the path of nvcc"}
output=${2:-$root/model/registers.inc}
source=${3:-$root/gemm_steps.cu}
architectures="75 80 86 89 90a 100 120"

work=$(mktemp -d)
trap 'rm -rf "$work" "$output.new"' EXIT

jobs=
for arch in $architectures; do
  "$nvcc" -std=c++20 -I"$root" -arch="sm_$arch" -cubin -Xptxas -v \
    -o "$work/$arch.cubin" "$source" >"$work/$arch.log" 2>&1 &
  jobs="$jobs $arch:$!"
done
for job in $jobs; do
  arch=${job%:*}
  wait "${job#*:}" || {
    echo "$0: $nvcc does not compile $source for sm_$arch:" >&2
    cat "$work/$arch.log" >&2
    exit 1
  }
done

# One architecture's records. ptxas names a kernel, then tells on the lines that follow what it
# spilled and what it uses; c++filt -p leaves out return types and parameters.
records() {
  c++filt -p <"$work/$1.log" | awk -v capability="${1%a}" '
    # The number that stands before these words, 0 where they do not occur.
    function count_of(words) {
      if (!match($0, "[0-9]+ " words)) return 0
      return substr($0, RSTART, RLENGTH) + 0
    }
    /Compiling entry function/ { split($0, quoted, "\047"); kernel = quoted[2] }
    /bytes spill stores/ { spilled = count_of("bytes spill stores") }
    /Used [0-9]+ registers/ {
      sub(/^\(anonymous namespace\)::/, "", kernel)
      printf "{\"%s\", %d, %d, %d, %d},\n", kernel, capability, count_of("registers"), spilled,
             count_of("bytes smem")
    }' | LC_ALL=C sort
}

version=$("$nvcc" --version | sed -n 's/.*release.*V\([0-9.]*\).*/\1/p')
{
  echo "// Written by model/record_registers.sh with nvcc $version: kernel, compute capability,"
  echo "// registers a thread, bytes spilled a thread, bytes of static shared memory a block."
  for arch in $architectures; do records "$arch"; done
} >"$output.new"
grep -q '^{' "$output.new" || {
  echo "$0: $nvcc found no kernel in $source" >&2
  exit 1
}
mv "$output.new" "$output"
