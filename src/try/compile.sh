#!/bin/bash
# compile.sh OUT [FLAG...]: compiles the CUDA file named by KERNEL, and the files named by MORE, for
# the CPU, twice. FLAGS are for the preprocessor. Leaves
#
#   OUT.raw_traced.o  the copy with the tracer's calls, as the compiler wrote it
#   OUT.traced.o      the same, with the symbols that a program has of it
#   OUT.plain.o       the copy without such calls
#   OUT.d             the headers that the files include, for make
#
# BUILD is where make has built. COPY=debug: the traced copy keeps the main. Exits with 1 and the
# compiler's errors, or says which function is missing.
set -u
# CXX, TRY_AS_CPU, TRIED_traced, TRIED_plain, REWRITER, C_LIBRARY and COUNTED.
. "$BUILD/try/environment" || exit 2
. src/try/files.sh
out=$1
shift
color=
[ ! -t 2 ] || color=-fdiagnostics-color=always
rm -f "$out".{raw_traced,traced,plain}.o

# compile COPY [FLAG...]: preprocessed, and what is not C++ is written anew
# (src/simulator/rewrite). The compiler would name what it reads "<stdin>" in its messages, so it gets
# the files themselves. prefix.h is precompiled for each copy, and with -fpch-preprocess remains a
# #pragma in what is preprocessed. (If a -D of the user's makes it unfit, it is read as text.)
#
# A kernel and its shared arrays are found by the name of their file in the symbol table
# (machine/symbols.cpp), so several files become one, the first.
compile() {
  local copy=$1 flags=TRIED_$1 objects=() object written names name
  flags="$CXX $TRY_AS_CPU ${!flags} $color"
  shift
  for i in "${!files[@]}"; do
    written=$out.$copy.$i
    object=$out.raw_$copy.o
    [ ${#files[@]} = 1 ] || object=$written.o
    src/try/limited.sh "${files[i]}" $flags -include "$BUILD/try/$copy.h" "$@" -fpch-preprocess \
      -E "${files[i]}" -o "$written.cpp" && "$REWRITER" < "$written.cpp" > "$written.ii" &&
      src/try/limited.sh "$KERNEL" $flags -x c++-cpp-output -fpreprocessed -c "$written.ii" -o "$object" ||
      return 1
    objects+=("$object")
  done
  [ ${#objects[@]} -gt 1 ] || return 0
  object=$out.raw_$copy.o
  ld -r "${objects[@]}" -o "$object"
  names=$(readelf -sW "$object" | awk '$4 == "FILE" { if (first == "") first = $8; if ($8 != first) print $8 }')
  for name in $names; do
    objcopy --strip-symbol="$name" "$object" || return 1
  done
}

# Gives a copy the symbols that it has in the program. A file with an sgemm has its own name for each
# copy's, also if it is called by simt_sgemm (rewrite/rewritten.h). Of a whole program, the host's code
# runs in the plain copy: the traced one keeps no main and no initializers. Its kernels use the plain
# copy's device variables, because both keep their names and the linker keeps one of each.
with_symbols() { # traced, plain or debug; IN.o; OUT.o
  local copy=$1 symbols variables name kept users=_Z5sgemmiiifPKfS0_fPf adapted=_Z10simt_sgemmiiifPKfS0_fPf
  local renamed=($C_LIBRARY)
  [ "$copy" = plain ] || renamed+=($COUNTED)
  symbols=$(readelf -sW "$2")
  has() { awk -v name="$1" '$7 != "UND" && $8 == name { found = 1 } END { exit !found }' <<< "$symbols"; }
  # Variables are inline, and so weak; those of the library, of classes and functions and the guards
  # stay apart.
  variables=$(awk '$4 == "OBJECT" && $5 == "WEAK" && $7 != "UND" &&
    $8 !~ /^(DW|_Z(T|GV|GR|St|NSt|NKSt|N9__gnu|Z))/ { print $8 }' <<< "$symbols")
  ! has $adapted || users=$adapted
  if has $users; then
    name=sgemm_$([ "$copy" = plain ] && echo plain || echo traced)
    kept=_Z${#name}${name}iiifPKfS0_fPf
    renamed+=(--redefine-sym "$users=$kept")
  elif [ "$copy" = traced ]; then
    kept=simt_keeps_none
    renamed+=("--remove-section=.init_array*" "--remove-section=.rela.init_array*" "--remove-section=.ctors*")
  else
    kept=simt_users_main
    renamed+=(--redefine-sym main=simt_users_main)
  fi
  src/simulator/trace/keep_symbols.sh "$2" "$3" "$kept $variables" "${renamed[@]}"
}

compile plain "$@" 2> "$out.messages" &
plain=$!
compile traced "$@" -MMD -MP -MF "$out.d" -MT "$out.traced.o"
code=$?
wait $plain || { [ $code != 0 ] || cat "$out.messages" >&2; code=1; }
rm -f "$out.messages" "$out".{plain,traced}.[0-9]*
[ $code = 0 ] || exit 1
readelf -sW "$out.raw_traced.o" | grep -qwE '_Z(5|10simt_)sgemmiiifPKfS0_fPf|main' || {
  echo "$KERNEL: defines neither main nor" \
    "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)" >&2
  rm "$out".raw_*.o
  exit 1
}
with_symbols plain "$out.raw_plain.o" "$out.plain.o" &
with_symbols "${COPY:-traced}" "$out.raw_traced.o" "$out.traced.o" && wait $! || exit 1
rm "$out.raw_plain.o"
