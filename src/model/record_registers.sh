#!/bin/sh
# Records what nvcc makes of every kernel of gemm_steps.cu and of src/experiments/kernels.cu, which
# includes it, for each architecture:
#   src/model/record_registers.sh NVCC [OUTPUT [MIX_OUTPUT [SOURCE]]]
# OUTPUT is src/model/registers.inc, which src/model/registers.cpp includes; MIX_OUTPUT is src/model/mix.inc,
# which src/model/mix.cpp includes and which stays as it is where there is neither cuobjdump nor
# nvdisasm on the PATH or beside nvcc; SOURCE is src/experiments/kernels.cu, all kernels of this
# project. An output is replaced as a whole or not at all. ARCHITECTURES="86 90a" in the
# environment: for those alone. Needs awk and c++filt.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
nvcc=${1:?"the first argument is missing: the path of nvcc"}
output=${2:-$root/src/model/registers.inc}
mix_output=${3:-$root/src/model/mix.inc}
source=${4:-$root/src/experiments/kernels.cu}
architectures=${ARCHITECTURES:-75 80 86 89 90a 100 120}

work=$(mktemp -d)
trap 'rm -rf "$work" "$output.new" "$mix_output.new"' EXIT

jobs=
for arch in $architectures; do
  "$nvcc" -std=c++20 -Xcompiler="-iquote,$root,-iquote,$root/src" -arch="sm_$arch" -cubin -Xptxas -v \
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

# One architecture's records; c++filt -p leaves out return types and parameters.
records() {
  c++filt -p <"$work/$1.log" | awk -f "$root/src/model/ptxas_registers.awk" | LC_ALL=C sort
}

version=$("$nvcc" --version | sed -n 's/.*release.*V\([0-9.]*\).*/\1/p')
{
  echo "// Written by src/model/record_registers.sh with nvcc $version: kernel, compute capability,"
  echo "// registers a thread, bytes spilled a thread, bytes of static shared memory a block."
  for arch in $architectures; do records "$arch"; done
} >"$output.new"
grep -q '^{' "$output.new" || {
  echo "$0: $nvcc found no kernel in $source" >&2
  exit 1
}
mv "$output.new" "$output"

PATH=$PATH:$(dirname "$(command -v "$nvcc")")
disassemble=$(command -v cuobjdump >/dev/null && echo "cuobjdump -sass" ||
  { command -v nvdisasm >/dev/null && echo "nvdisasm -c"; } || :)
if [ -z "$disassemble" ]; then
  echo "$0: neither cuobjdump nor nvdisasm is there, so $mix_output stays as it is" >&2
  exit 0
fi
mixes() {
  $disassemble "$work/$1.cubin" | awk -f "$root/src/model/sass_mix.awk" | c++filt -p |
    awk -F '\t' -v capability="${1%a}" '
      { sub(/^\(anonymous namespace\)::/, "", $1) }
      $2 == "loop" { loop[$1] = $3 }
      $2 == "inner" { printf "{\"%s\", %d,\n {%s},\n {%s}},\n", $1, capability, loop[$1], $3 }'
}
{
  echo "// Written by src/model/record_registers.sh with nvcc $version: kernel, compute capability, one"
  echo "// round of the main loop, and one round of the loop in it (zeros where there is none): the"
  echo "// instructions of a warp in the order of src/model/mix.h."
  for arch in $architectures; do mixes "$arch"; done
} >"$mix_output.new"
grep -q '^{' "$mix_output.new" || {
  echo "$0: $disassemble shows no loop with an FFMA in $source" >&2
  exit 1
}
mv "$mix_output.new" "$mix_output"
