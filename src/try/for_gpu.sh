#!/bin/bash
# for_gpu.sh OUT CLOCK.o NVCC FLAGS...: compiles the CUDA file named by KERNEL, and the files named
# by MORE, for the GPU.
#   OUT.gpu.o      its sgemm, as sgemm_gpu; empty if the file has none
#   OUT.on_gpu     if it is a whole program: that program, with a clock around each launch
#                  (src/lab/profile/timed_launches.cu)
# A file that nvcc does not compile, for example because a header is missing, gets a note, and
# nothing is timed.
set -u
. src/try/files.sh
out=$1 clock=$2 nvcc=$3
shift 3
said=$out.gpu.log
give_up() {
  echo "try: note: nvcc does not compile $1, so nothing is timed:" \
    "$(grep -m 1 -i 'error' "$said" || tail -n 1 "$said")" >&2
  nothing
  exit 0
}
nothing() {
  ${CXX:-c++} -x c++ -c /dev/null -o "$out.gpu.o"
}

rm -f "$out.on_gpu"
: > "$said"
objects=
for file in "${files[@]}"; do
  for_nvcc "$file" || {
    echo "nvcc hands file names to a shell, which could take this one for a command" >> "$said"
    give_up "$file"
  }
  object=$out.$(echo "$objects" | wc -w).for_gpu.o
  "$nvcc" "$@" -x cu -c "$file" -o "$object" 2>> "$said" || give_up "$file"
  objects="$objects $object"
done
ld -r $objects -o "$out.gpu.o"

sgemm=_Z5sgemmiiifPKfS0_fPf
if nm "$out.gpu.o" | grep -q " T $sgemm$" || ! nm "$out.gpu.o" | grep -q ' T main$'; then
  objcopy --redefine-sym $sgemm=_Z9sgemm_gpuiiifPKfS0_fPf --localize-symbol=main "$out.gpu.o"
  exit
fi
wraps=
for name in __cudaLaunchKernel cudaLaunchKernel cudaLaunchCooperativeKernel cudaLaunchKernelExC \
  cudaDeviceReset; do
  wraps="$wraps,--wrap=$name"
done
"$nvcc" "$@" "$out.gpu.o" "$clock" -Xlinker "${wraps#,}" -lcublas -lcurand \
  -o "$out.on_gpu" 2>> "$said" || give_up "$KERNEL"
nothing
