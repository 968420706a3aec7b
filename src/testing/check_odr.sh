#!/bin/bash
# check_odr.sh BUILD COMPILE SOURCES...: compiles them for link-time analysis and lets the linker compare
# what they say of each type and function. Only the comparison counts: without a main and the kernels
# the link itself comes to no program.
set -uo pipefail
folder=$1/odr
compile=$2
shift 2
mkdir -p "$folder"
export folder compile
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I{} bash -c '
  object=$folder/$(tr / _ <<< "$1").o
  [ "$object" -nt "$1" ] || $compile -O0 -flto -c "$1" -o "$object"' compile {} || exit 1
said=$(g++ -O0 -flto=auto -Wodr -Wno-lto-type-mismatch -r -flinker-output=nolto-rel -z muldefs "$folder"/*.o -o "$folder.o" 2>&1)
code=$?
clashes=$(grep -A 5 -e '-Wodr\|violates the C++ One Definition Rule' <<< "$said")
if [ -n "$clashes" ]; then
  printf '%s\n' "$clashes" >&2
  exit 1
fi
[ $code = 0 ] || { printf '%s\n' "$said" >&2; exit 1; }
rm -rf "$folder" "$folder.o"
