#!/bin/sh
# compile.sh TRACED.o PLAIN.o IN.ii "FLAGS OF TRACED" "FLAGS OF PLAIN" COMPILER FLAGS...: compiles
# both copies of what rewrite.sh wrote, at the same time. Errors are those of one copy. Says which
# function is missing.
set -u
traced=$1 plain=$2 in=$3 of_traced=$4 of_plain=$5
shift 5
[ ! -t 2 ] || set -- "$@" -fdiagnostics-color=always
files=$in
for file in "$in".*.ii; do
  [ ! -e "$file" ] || files="$files $file"
done
# A kernel and its shared arrays are found by the name of their file in the symbol table
# (machine/symbols.cpp). So the merged files become one, the first.
as_one_file() {
  names=$(readelf -sW "$1" | awk '$4 == "FILE" { if (first == "") first = $8; if ($8 != first) print $8 }')
  for name in $names; do
    objcopy --strip-symbol="$name" "$1" || return 1
  done
}
# copy OUT.o "FLAGS" COMPILER FLAGS...
copy() {
  out=$1 of_copy=$2 objects=
  shift 2
  for file in $files; do
    into=$out
    [ "$file" = "$in" ] || into=$out.$(basename "$file").o
    src/try/limited.sh "$KERNEL" "$@" $of_copy -x c++-cpp-output -fpreprocessed -c "$file" \
      -o "$into" || return 1
    objects="$objects $into"
  done
  [ "$files" = "$in" ] || { ld -r $objects -o "$out.all" && as_one_file "$out.all" && mv "$out.all" "$out"; }
}
copy "$plain" "$of_plain" "$@" 2> "$plain.said" &
plain_job=$!
copy "$traced" "$of_traced" "$@"
of_traced_code=$?
wait $plain_job
of_plain_code=$?
[ $of_traced_code != 0 ] || [ $of_plain_code = 0 ] || cat "$plain.said" >&2
rm -f "$plain.said"
if [ $of_traced_code = 0 ] && [ $of_plain_code = 0 ]; then
  ! readelf -sW "$traced" | grep -qwE '_Z(5|10simt_)sgemmiiifPKfS0_fPf|main' || exit 0
  echo "$KERNEL: defines neither main nor" \
    "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)" >&2
fi
rm -f "$traced" "$plain"
exit 1
