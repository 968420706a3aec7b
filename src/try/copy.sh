#!/bin/sh
# copy.sh COPY IN.o OUT.o [OBJCOPY_FLAG...]: makes the traced, plain or debug copy of a user's file.
# A file with an sgemm has its own name for each copy's, also if it is called by simt_sgemm
# (rewrite/sgemm.h). Of a whole program, the host's code runs in the plain copy: the traced one keeps
# no main and no initializers. Its kernels use the plain copy's device variables, because both keep
# their names and the linker keeps one of each.
set -e
copy=$1 in=$2 out=$3
shift 3
symbols=$(readelf -sW "$in")
has() { echo "$symbols" | awk -v name="$1" '$7 != "UND" && $8 == name { found = 1 } END { exit !found }'; }
arguments=iiifPKfS0_fPf
# Variables are inline, and so weak; those of the library, of classes and functions and the guards
# stay apart.
variables=$(echo "$symbols" | awk '$4 == "OBJECT" && $5 == "WEAK" && $7 != "UND" &&
  $8 !~ /^(DW|_Z(T|GV|GR|St|NSt|NKSt|N9__gnu|Z))/ { print $8 }')
adapted=_Z10simt_sgemm$arguments users=_Z5sgemm$arguments
! has "$adapted" || users=$adapted
if has "$users"; then
  name=sgemm_$([ "$copy" = plain ] && echo plain || echo traced)
  name=_Z${#name}$name$arguments
  kept=$name
  set -- "$@" --redefine-sym "$users=$name"
elif [ "$copy" = traced ]; then
  kept=simt_keeps_none
  set -- "$@" --remove-section=.init_array* --remove-section=.rela.init_array* --remove-section=.ctors*
else
  kept=simt_users_main
  set -- "$@" --redefine-sym main=simt_users_main
fi
exec src/trace/keep_symbols.sh "$in" "$out" "$kept $variables" "$@"
