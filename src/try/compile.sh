#!/bin/sh
# compile.sh OUT.o IN.ii COMPILER FLAGS...: compiles what rewrite.sh wrote, and says which function
# is missing.
set -u
out=$1 in=$2
shift 2
[ ! -t 2 ] || set -- "$@" -fdiagnostics-color=always
objects=
for file in "$in" "$in".*.ii; do
  [ -e "$file" ] || continue
  into=$out
  [ "$file" = "$in" ] || into=$out.$(basename "$file").o
  src/try/limited.sh "$KERNEL" "$@" -x c++-cpp-output -fpreprocessed -c "$file" -o "$into" || {
    rm -f "$out"
    exit 1
  }
  objects="$objects $into"
done
if [ "$objects" != " $out" ]; then
  ld -r $objects -o "$out.all" && mv "$out.all" "$out" || exit 1
fi
readelf -sW "$out" | grep -qwE '_Z5sgemmiiifPKfS0_fPf|main' || {
  echo "$KERNEL: defines neither main nor" \
    "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)" >&2
  exit 1
}
