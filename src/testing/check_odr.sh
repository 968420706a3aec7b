#!/bin/bash
# check_odr.sh BUILD COMPILE SOURCES...: compiles the sources for link-time optimization and lets
# the linker compare their definitions of each type and function. Only the comparison matters; the
# link does not produce a program, because main and the kernels are missing.
set -uo pipefail
folder=$1/odr
compile=$2
shift 2
rm -rf "$folder" # of a run that was stopped
mkdir -p "$folder"
export folder compile
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I{} bash -c '
  object=$folder/$(tr / _ <<< "$1").o
  $compile -O0 -flto -c "$1" -o "$object"' compile {} || exit 1
messages=$(g++ -O0 -flto=auto -flto-partition=one -Wodr -Wno-lto-type-mismatch -r -flinker-output=nolto-rel -z muldefs "$folder"/*.o -o "$folder.o" 2>&1)
code=$?
clashes=$(grep -A 5 -e '-Wodr\|violates the C++ One Definition Rule' <<< "$messages")
if [ -n "$clashes" ]; then
  printf '%s\n' "$clashes" >&2
  exit 1
fi
[ $code = 0 ] || { printf '%s\n' "$messages" >&2; exit 1; }
rm -rf "$folder" "$folder.o"
