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
parts_of_in=$(readelf -SsW "$in")
case "$(uname -m) $parts_of_in" in
  *simt_accesses_are_announced*) ;;
  x86_64*__tsan_*)
    echo "$in: the compiler did not start its assembler by -wrapper, so accesses would be missed" >&2
    exit 1
    ;;
esac
names=$(awk -v script="$new.script" '
  BEGIN { print "SECTIONS { .tbss : ALIGN(4096) {" > script }
  match($0, /\] \.tbss\.[^ ]+/) { print "*(" substr($0, RSTART + 2, RLENGTH - 2) ") . += 1024;" > script }
  $4 == "TLS" && $7 == "UND" && $8 !~ /^(threadIdx|blockIdx|blockDim|gridDim|warpSize)$/ && !seen[$8]++ { print $8 }
  END { print "*(.tbss) . = ALIGN(4096); } }" > script }' <<< "$parts_of_in")
ld -r --force-group-allocation -T "$new.script" "$in" -o "$new.merged"
for name in $names; do
  # One at a time: objcopy refuses to give several symbols one name at once.
  objcopy --redefine-sym "$name=simt_dynamic_shared" "$new.merged"
done
objcopy "$@" $(printf ' --keep-global-symbol=%s' $symbols) "$new.merged" "$new"
mv -f "$new" "$out"
