#!/bin/bash
# Records what nvcc makes of every kernel of gemm_steps.cu and of src/experiments/kernels.cu, for
# each architecture: registers, and the instructions of the main loop.
#   src/model/record_kernels.sh NVCC [OUTPUT [SOURCE...]]
# OUTPUT is src/model/compiled_kernels.inc, which src/model/compiled_kernel.cpp includes; the SOURCEs
# are these two, all kernels of this project. OUTPUT is replaced completely or not at
# all. Main loops need cuobjdump or nvdisasm on the PATH or beside nvcc. Without either, OUTPUT
# keeps its old main loops, and a new kernel has none. ARCHITECTURES="86 90a" in the environment
# limits the record to these. Needs awk and c++filt.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
nvcc=${1:?"the first argument is missing: the path of nvcc"}
output=${2:-$root/src/model/compiled_kernels.inc}
[ $# -gt 2 ] && shift 2 || set -- "$root/gemm_steps.cu" "$root/src/experiments/kernels.cu"
architectures=${ARCHITECTURES:-75 80 86 89 90a 100 120}

work=$(mktemp -d)
trap 'rm -rf "$work" "$output.new"' EXIT

# kernels.cu includes this file.
"$root/src/experiments/changed_kernels.sh" changed_kernels.cuh >"$work/changed_kernels.cuh"

PATH=$PATH:$(dirname "$(command -v "$nvcc")")
disassemble=$(command -v cuobjdump >/dev/null && echo "cuobjdump -sass" ||
  { command -v nvdisasm >/dev/null && echo "nvdisasm -c -hex"; } || :)

# Main loops, one per line: "kernel", compute capability|{one iteration}, {one of the inner loop}
main_loops() {
  for cubin in "$work/$1"/*; do $disassemble "$cubin"; done | awk -f "$root/src/model/sass_mix.awk" | c++filt -p |
    awk -F '\t' -v capability="${1%a}" '
      function mix(counts) { return counts ~ /[1-9]/ ? "{" counts "}" : "{}" }
      { sub(/^\(anonymous namespace\)::/, "", $1) }
      $2 == "loop" { loop[$1] = mix($3) }
      $2 == "inner" { printf "\"%s\", %d|%s, %s\n", $1, capability, loop[$1], mix($3) }'
}

jobs=
for arch in $architectures; do
  mkdir "$work/$arch"
  (for source; do
    "$nvcc" -std=c++20 -Xcompiler="-iquote,$root,-iquote,$root/src,-iquote,$work" -arch="sm_$arch" -cubin -Xptxas -v \
      -o "$work/$arch/$(basename "$source").cubin" "$source" || exit
  done >"$work/$arch.log" 2>&1
  [ -z "$disassemble" ] || main_loops "$arch" >"$work/$arch.loops") &
  jobs="$jobs $arch:$!"
done
for job in $jobs; do
  arch=${job%:*}
  wait "${job#*:}" || {
    echo "$0: $nvcc does not compile $* for sm_$arch:" >&2
    cat "$work/$arch.log" >&2
    exit 1
  }
done

version=$("$nvcc" --version | sed -n 's/.*release.*V\([0-9.]*\).*/\1/p')
loops_version=$version
if [ -n "$disassemble" ]; then
  cat "$work"/*.loops >"$work/loops"
  [ -s "$work/loops" ] || {
    echo "$0: $disassemble shows no loop that multiplies in $*" >&2
    exit 1
  }
else
  echo "$0: there is neither cuobjdump nor nvdisasm, so the recorded main loops do not change" >&2
  if [ -e "$output" ]; then
    sed -n 's/^{\(".*", [0-9]*\), [0-9]*, [0-9]*, [0-9]*, \({.*}\)},$/\1|\2/p' "$output" >"$work/loops"
    loops_version=$(sed -n 's/^.*Main loops: nvcc \(.*\)\.$/\1/p' "$output")
  fi
fi

# The registers of one architecture; c++filt -p omits return types and parameters. Both sources have
# the kernels that are no templates.
registers() {
  c++filt -p <"$work/$1.log" | awk -f "$root/src/model/ptxas_registers.awk" | LC_ALL=C sort -u
}
{
  echo "// Written by src/model/record_kernels.sh: one CompiledKernel (src/model/compiled_kernel.h) per line."
  echo "// Registers: nvcc $version. Main loops: nvcc ${loops_version:-unknown}."
  for arch in $architectures; do registers "$arch"; done | awk -v loops="$work/loops" '
    BEGIN { while ((getline line < loops) > 0) { split(line, part, "|"); loop[part[1]] = part[2] } }
    {
      match($0, /^{".*", [0-9]+, /)
      kernel = substr($0, 2, RLENGTH - 3)
      sub(/},$/, "")
      print $0 ", " (kernel in loop ? loop[kernel] : "{}, {}") "},"
    }'
} >"$output.new"
grep -q '^{' "$output.new" || {
  echo "$0: $nvcc found no kernel in $*" >&2
  exit 1
}
mv "$output.new" "$output"
