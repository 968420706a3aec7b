#!/bin/bash
# keep_symbols.sh IN.o OUT.o SYMBOLS [OBJCOPY_FLAG...]: writes IN.o to OUT.o with only SYMBOLS
# visible (separated by spaces), after the renamings in the flags. All other symbols become local.
# Otherwise the linker would silently merge two copies of one file in one program, function by
# function.
#
# Leaves unused bytes between two __shared__ arrays, so that a pointer that runs out of one does not
# reach the next.
#
# Every name of dynamic shared memory becomes the buffer of src/simulator/machine/kernel_memory.cpp.
set -e
in=$1 out=$2 new=$2.new$$ symbols=$3
shift 3
trap 'rm -f "$new"*' EXIT
# Traced code must have passed through src/simulator/announce/wrapper.cpp on systems that need it.
symbols_of_in=$(readelf -sW "$in")
case "$(uname -m) $symbols_of_in" in
  *simt_accesses_are_announced*) ;;
  x86_64*__tsan_*)
    echo "$in: the compiler did not start its assembler by -wrapper, so accesses would be missed" >&2
    exit 1
    ;;
esac
ld -r --force-group-allocation "$in" -o "$new.merged"
{
  echo 'SECTIONS { .tbss : ALIGN(4096) {'
  readelf -SW "$new.merged" | sed -n 's/.* \(\.tbss\.[^ ]*\) .*/*(\1) . += 1024;/p'
  echo '*(.tbss) . = ALIGN(4096); } }'
} > "$new.script"
ld -r -T "$new.script" "$new.merged" -o "$new.apart"
mv "$new.apart" "$new.merged"
for name in $(echo "$symbols_of_in" | awk '$4 == "TLS" && $7 == "UND" &&
    $8 !~ /^(threadIdx|blockIdx|blockDim|gridDim|warpSize)$/ { print $8 }' | sort -u); do
  # One at a time: objcopy refuses to give several symbols one name at once.
  objcopy --redefine-sym "$name=simt_dynamic_shared" "$new.merged"
done
[ $# -eq 0 ] || objcopy "$@" "$new.merged"
for name in $symbols; do
  kept="$kept --keep-global-symbol=$name"
done
objcopy $kept "$new.merged" "$new"
mv -f "$new" "$out"
