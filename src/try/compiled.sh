#!/bin/bash
# compiled.sh PROGRAM "ARCHITECTURES" NVCC FLAGS...: compiles the CUDA files named by KERNEL and MORE
# for these architectures. Leaves beside PROGRAM
#   PROGRAM.registers         a line for each kernel (src/model/ptxas_registers.awk)
#   PROGRAM.sm_86.sass        the code with its lines, by nvdisasm, for each architecture
#   PROGRAM.why_not_compiled  a sentence, if that is not possible
# A file that nvcc does not compile is no error here: the CPU needs only g++.
set -u
. src/try/files.sh
program=$1 architectures=$2
shift 2
nvcc=$1
PATH=$PATH:$(dirname "$(command -v "$nvcc")")
rm -f "$program".registers "$program".sm_*.sass "$program".why_not_compiled
# The first reason.
why() { [ -e "$program.why_not_compiled" ] || echo "$*" > "$program.why_not_compiled"; }
for arch in $(printf '%s\n' $architectures | sort -u); do
  number=0
  for file in "${files[@]}"; do
    if ! for_nvcc "$file"; then
      why "nvcc hands file names to a shell, which could take this one for a command."
      break
    fi
    cubin=$program.sm_$arch.$number.cubin
    number=$((number + 1))
    if ! src/try/limited.sh "$file" "$@" -arch="sm_$arch" -cubin "$file" -o "$cubin" > "$cubin.said" 2>&1; then
      why "nvcc does not compile the file for sm_$arch: $(grep -m1 -iE 'error|fatal' "$cubin.said" || head -1 "$cubin.said")"
      rm -f "$program.sm_$arch.sass" "$cubin" "$cubin.said"
      break
    fi
    c++filt -p < "$cubin.said" | awk -f src/model/ptxas_registers.awk >> "$program.registers"
    if ! command -v nvdisasm > /dev/null; then
      why "nvcc's code cannot be read, because nvdisasm (of the CUDA toolkit) is missing."
    elif ! nvdisasm -gi "$cubin" >> "$program.sm_$arch.sass" 2> "$cubin.said"; then
      why "nvdisasm cannot read nvcc's code for sm_$arch: $(head -1 "$cubin.said")"
      rm -f "$program.sm_$arch.sass" "$cubin" "$cubin.said"
      break
    fi
    rm -f "$cubin" "$cubin.said"
  done
done
exit 0
