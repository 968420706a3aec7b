#!/bin/bash
# Prints what nvcc makes of kernels of gemm_steps.cu: registers, spills and the instruction mix. The
# kernels' names are read from standard input, one per line, in C++ syntax.
#   src/model/print_sass.sh NVCC ARCH <NAMES
# ARCH is the text after sm_, for example 90a. Needs awk and c++filt, and for the mix cuobjdump or
# nvdisasm on the PATH or beside nvcc.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
nvcc=${1:?"the first argument is missing: the path of nvcc"}
arch=${2:?"the second argument is missing: an architecture, 90a for example"}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$nvcc" -std=c++20 -O3 -Xcompiler="-iquote,$root,-iquote,$root/src" -arch="sm_$arch" -cubin -Xptxas -v \
  -o "$work/cubin" "$root/gemm_steps.cu" >"$work/log" 2>&1 || {
  echo "$0: $nvcc does not compile gemm_steps.cu for sm_$arch:" >&2
  cat "$work/log" >&2
  exit 1
}
c++filt -p <"$work/log" | awk -f "$root/src/model/ptxas_registers.awk" >"$work/registers"

PATH=$PATH:$(dirname "$(command -v "$nvcc")")
if command -v cuobjdump >/dev/null; then
  cuobjdump -sass "$work/cubin"
elif command -v nvdisasm >/dev/null; then
  nvdisasm -c "$work/cubin"
else
  echo "the instruction mix needs cuobjdump or nvdisasm, and neither is on the PATH" >&2
fi | awk -f "$root/src/model/sass_mix.awk" | c++filt -p >"$work/mix"

awk -F '\t' -v arch="$arch" '
  function print_kernel(name, i, columns, shown, sums, loop, whole, inner) {
    printf "%s, sm_%s\n%s\n", name, arch, resources[name]
    if (!((name, "whole") in mix)) return
    split(mix[name, "whole"], whole, ", ")
    split(mix[name, "loop"], loop, ", ")
    split(mix[name, "inner"], inner, ", ")
    printf "  %-12s %8s %12s %12s\n", "", "whole", "main loop", "inner loop"
    for (i = 1; i <= kinds; ++i) {
      sums[1] += whole[i]
      sums[2] += loop[i]
      sums[3] += inner[i]
      if (whole[i] > 0) printf "  %-12s %8d %12d %12d\n", label[i], whole[i], loop[i], inner[i]
    }
    printf "  %-12s %8d %12d %12d\n\n", "all", sums[1], sums[2], sums[3]
  }
  BEGIN {
    kinds = split("LDG.32 LDG.64 LDG.128 LDS.32 LDS.64 LDS.128 LDSM LDSM.2 LDSM.4 STS.32 STS.64 STS.128 " \
                  "STG.32 STG.64 STG.128 LDGSTS.32 LDGSTS.64 LDGSTS.128 FFMA MMA BAR other", label, " ")
  }
  FILENAME ~ /registers$/ {
    split($0, quoted, "\"")
    split(quoted[3], count, ", ")
    resources[quoted[2]] = "  " count[3] " registers per thread, " count[4] " bytes spilled, " \
                           count[5] + 0 " bytes of static shared memory"
  }
  FILENAME ~ /mix$/ { mix[$1, $2] = $3 }
  FILENAME == "-" && ($1 in resources) && !($1 in printed) {
    print_kernel($1)
    printed[$1] = 1
    any = 1
  }
  END {
    if (any) exit
    print "no such kernel: --list names the stages and their variants" >"/dev/stderr"
    exit 2
  }
' "$work/registers" "$work/mix" -

if [ -s "$work/mix" ]; then
  echo "Instructions per warp. main loop: one iteration along K, by the shortest path that copies, as a"
  echo "block inside the matrices takes it; inner loop: one iteration of a loop in it that is not unrolled."
  echo "An iteration covers as many steps as the compiler unrolled: FFMA / results per thread."
fi
