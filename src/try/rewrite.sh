#!/bin/sh
# rewrite.sh REWRITER OUT.ii COMPILER FLAGS...: preprocesses the CUDA file named by KERNEL, and
# the files named by MORE, and writes what is not C++ anew (src/rewrite). MORE's become OUT.1.ii,
# OUT.2.ii and so on.
set -u
rewriter=$1 out=$2
shift 2
mkdir -p "$(dirname "$out")"
[ ! -t 2 ] || set -- "$@" -fdiagnostics-color=always
rm -f "$out" "$out".*.ii
number=0
for file in "$KERNEL" ${MORE:-}; do
  [ -f "$file" ] && [ -r "$file" ] || {
    echo "$file: there is no such file, or it cannot be read; give the path of a CUDA file" >&2
    exit 2
  }
  into=$out
  [ $number = 0 ] || into=$out.$number.ii
  # The compiler would name what it reads "<stdin>" in messages, so it gets the file itself.
  src/try/limited.sh "$file" "$@" -E "$file" -o "$into.cpp" &&
    "$rewriter" < "$into.cpp" > "$into" || {
    rm -f "$out" "$out.d" "$into" "$into.cpp"
    exit 1
  }
  rm -f "$into.cpp"
  number=$((number + 1))
done
