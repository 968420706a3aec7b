#!/bin/sh
# keep_symbols.sh IN.o OUT.o SYMBOLS [OBJCOPY_FLAG...]: IN.o, showing none but SYMBOLS (separated by spaces)
# after the renamings that the flags ask for. All else of it becomes local, or the linker would silently
# merge two copies of one file in one program, function by function.
#
# Between two __shared__ arrays there are bytes that are nobody's: a pointer that runs out of the one
# does not come into the other.
#
# Dynamic shared memory, whatever a kernel calls it, is the buffer of src/machine/kernel_memory.cpp.
set -e
in=$1 out=$2 symbols=$3
shift 3
trap 'rm -f "$out.merged" "$out.script"' EXIT
ld -r --force-group-allocation "$in" -o "$out.merged"
arrays=$(readelf -SW "$out.merged" | sed -n 's/.* \(\.tbss\.[^ ]*\) .*/\1/p')
if [ -n "$arrays" ]; then
  {
    echo 'SECTIONS { .tbss : {'
    for array in $arrays; do
      echo "*($array) . += 1024;"
    done
    echo '*(.tbss) } }'
  } > "$out.script"
  ld -r -T "$out.script" "$out.merged" -o "$out.apart"
  mv "$out.apart" "$out.merged"
fi
for name in $(readelf -sW "$in" | awk '$4 == "TLS" && $7 == "UND" &&
    $8 !~ /^(threadIdx|blockIdx|blockDim|gridDim)$/ { print $8 }' | sort -u); do
  set -- "$@" --redefine-sym "$name=simt_dynamic_shared"
done
objcopy "$@" "$out.merged"
for name in $symbols; do
  kept="$kept --keep-global-symbol=$name"
done
objcopy $kept "$out.merged" "$out"
