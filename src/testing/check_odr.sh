#!/bin/bash
# check_odr.sh BUILD CXX FLAGS UNIT:SOURCE...: compiles the sources for link-time optimization and lets
# the linker compare their definitions of each type and function. Sources of one unit are compiled
# together, as make does, so that the compiler compares these. (Make has shown their warnings.) Only
# the comparison matters, so the link produces no code. The standard headers are precompiled, as for
# make.
set -uo pipefail
folder=$1/odr
compile="$2 $3" cxx=$2
shift 3
rm -rf "$folder" # of a run that was stopped
mkdir -p "$folder"
export folder compile
echo '#include "src/standard.h"' > "$folder/standard.h" && $compile -O0 -flto -x c++-header "$folder/standard.h" || exit 1
for source in "$@"; do
  unit=${source%:*}
  echo "#include \"${source#*:}\"" >> "$folder/${unit//\//_}.cpp"
done
# A source that is a unit by itself is the main file, as for make: g++ 13 crashes in one that is included.
printf '%s\0' "$folder"/*.cpp | xargs -0 -P "$(nproc)" -I{} bash -c '
  source=$1
  [ "$(wc -l < "$1")" != 1 ] || source=$(sed "s/.*\"\(.*\)\"/\1/" "$1")
  $compile -w -O0 -flto -include "$folder/standard.h" -c "$source" -o "$1.o"' compile {} || exit 1
messages=$($cxx -O0 -flto -Wodr -Wno-lto-type-mismatch -r -flinker-output=rel -z muldefs "$folder"/*.o -o "$folder.o" 2>&1)
code=$?
clashes=$(grep -A 5 -e '-Wodr\|violates the C++ One Definition Rule' <<< "$messages")
[ "$code$clashes" = 0 ] || { printf '%s\n' "${clashes:-$messages}" >&2; exit 1; }
rm -rf "$folder" "$folder.o"
