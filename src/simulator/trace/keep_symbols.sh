#!/bin/bash
# keep_symbols.sh IN.o OUT.o SYMBOLS [OBJCOPY_FLAG...]: writes IN.o to OUT.o with only SYMBOLS
# visible (separated by spaces; they may be patterns), after the renamings in the flags. All other
# symbols become local.
# Otherwise the linker would silently merge two copies of one file in one program, function by
# function. The word `variables` in SYMBOLS means all device variables of a user's file.
#
# Leaves unused bytes between two __shared__ arrays, so that a pointer that runs out of one does not
# reach the next.
#
# Every name of dynamic shared memory becomes the buffer of src/simulator/machine/kernel_memory.cpp; the standard
# library's variables of threads, as of std::call_once, do not.
set -ef
in=$1 out=$2 new=$2.new$$ symbols=" $3 "
shift 3
trap 'rm -f "$new"' EXIT
# Traced code must have passed through src/simulator/announce/wrapper.cpp on systems that need it.
parts_of_in=$(readelf -SsW "$in")
case "$HOSTTYPE $parts_of_in" in
  *simt_accesses_are_announced*) ;;
  x86_64*__tsan_*)
    echo "$in: the compiler did not start its assembler by -wrapper, so accesses would be missed" >&2
    exit 1
    ;;
esac
# Device variables are inline (rewrite/rewritten.h), and so weak; those of the library, of classes and functions and
# the guards stay apart.
names=$(exec awk '
  match($0, /\] \.tbss\.[^ ]+/) { arrays = arrays "*(" substr($0, RSTART + 2, RLENGTH - 2) ") . += 1024;" }
  $4 == "TLS" && $7 == "UND" && $8 !~ /^(_ZSt.*|threadIdx|blockIdx|blockDim|gridDim|warpSize)$/ && !seen[$8]++ { dynamic = dynamic " " $8 }
  $4 == "OBJECT" && $5 == "WEAK" && $7 != "UND" && $8 !~ /^(DW|_Z(T|GV|GR|St|NSt|NKSt|N9__gnu|Z))/ {
    variables = variables " " $8
  }
  END { print dynamic; print variables; print "SECTIONS { .tbss : ALIGN(4096) {" arrays "*(.tbss) . = ALIGN(4096); } }" }
  ' <<< "$parts_of_in")
{ read -r dynamic; read -r variables; read -r script; } <<< "$names"
ld -r --force-group-allocation -T /dev/stdin "$in" -o "$new" <<< "$script"
for name in $dynamic; do
  # One at a time: objcopy refuses to give several symbols one name at once.
  objcopy --redefine-sym "$name=simt_dynamic_shared" "$new"
done
kept=(${symbols/ variables / $variables })
objcopy --wildcard "$@" "${kept[@]/#/--keep-global-symbol=}" "$new"
trap - EXIT
mv -f "$new" "$out"
