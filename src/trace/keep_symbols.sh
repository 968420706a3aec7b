#!/bin/sh
# keep_symbols.sh IN.o OUT.o SYMBOLS [OBJCOPY_FLAG...]: IN.o, showing none but SYMBOLS (separated by spaces)
# after the renamings that the flags ask for. All else of it becomes local, or the linker would silently
# merge two copies of one file in one program, function by function.
#
# Dynamic shared memory, whatever a kernel calls it, is the buffer of src/machine/kernel_memory.cpp.
set -e
in=$1 out=$2 symbols=$3
shift 3
trap 'rm -f "$out.merged"' EXIT
ld -r --force-group-allocation -T src/trace/shared_pages.ld "$in" -o "$out.merged"
for name in $(readelf -sW "$in" | awk '$4 == "TLS" && $7 == "UND" &&
    $8 !~ /^(threadIdx|blockIdx|blockDim|gridDim)$/ { print $8 }' | sort -u); do
  set -- "$@" --redefine-sym "$name=simt_dynamic_shared"
done
objcopy "$@" "$out.merged"
for name in $symbols; do
  kept="$kept --keep-global-symbol=$name"
done
objcopy $kept "$out.merged" "$out"
