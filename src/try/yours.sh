#!/bin/bash
# yours.sh try|show|step|debug|profile: compiles the CUDA file named by KERNEL, and the files named by
# MORE, in a folder of its own, and does with the program what the goal says. Several may run at once
# in one checkout, and nothing of a user's file is left in it.
#
# From make: BUILD, where it has built; PRESENT, the architecture of the GPU that is here, if any.
# From the user: KERNEL, MORE, TRY_FLAGS (for the compiler, if they begin with -I or -D, else for the
# program), FLAGS (for step), TRY_ARGS, PAGE, BLOCK, THREAD. No shell reads them.
set -u
goal=$1
[ -n "${KERNEL:-}" ] || { echo "which kernel? make $goal KERNEL=path/to/file.cu${2:-}" >&2; exit 2; }
# CXX, LIBRARIES, HARNESS, RUNNERS (objects), NVCC, TRY_NVCCFLAGS and TRY_CUBIN_FLAGS.
. "$BUILD/try/environment" || exit 2
. src/try/files.sh
work=$(mktemp -d "$BUILD/try/run.XXXXXX" 2> /dev/null) || {
  echo "$goal: $BUILD/try: no folder can be made there; make BUILD=/tmp/build $goal ... builds elsewhere" >&2
  exit 2
}
trap 'kill $(jobs -p) 2> /dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The words of a text as a shell would split it, in the array `words`.
split() {
  words=()
  [[ $2 =~ [^[:space:]] ]] || return 0
  mapfile -t words < <(xargs -n 1 printf '%s\n' <<< "$2" 2> /dev/null)
  xargs true <<< "$2" 2> /dev/null || { echo "$1=$2: a quote is not closed" >&2; exit 2; }
}
split TRY_FLAGS "${TRY_FLAGS:-}"
of_compiler=() of_program=(--file "$KERNEL")
for word in "${words[@]}"; do
  case $word in -I* | -D*) of_compiler+=("$word") ;; *) of_program+=("$word") ;; esac
done
flags=("${of_program[@]:2}")
split FLAGS "${FLAGS:-}"
[ "$goal" != step ] || of_program+=("${words[@]}")
split TRY_ARGS "${TRY_ARGS:-}"
[ ${#words[@]} = 0 ] || of_program+=(-- "${words[@]}")

program=$work/yours
if [ "$goal" = debug ]; then
  COPY=debug src/try/compile.sh "$program" "${of_compiler[@]}" &&
    $CXX -fopenmp "$program.traced.o" $DEBUGGED $LIBRARIES -o "$program" || exit 1
  src/try/debug/debug.sh "$program" "${BLOCK:-0,0}" "${THREAD:-0,0}" "${of_program[@]}"
  exit
fi
if [ -n "$NVCC" ]; then
  src/try/compiled.sh "$program" "$("$BUILD/try/architecture" "${flags[@]}") $PRESENT" \
    "$NVCC" $TRY_CUBIN_FLAGS "${of_compiler[@]}" &
fi
of_gpu=
if [ -n "$HAS_GPU" ]; then
  src/try/for_gpu.sh "$program" "$BUILD/try/timed_launches.o" "$NVCC" $TRY_NVCCFLAGS "${of_compiler[@]}" &
  of_gpu=$program.gpu.o
fi
src/try/compile.sh "$program" "${of_compiler[@]}" || exit 1
wait
$CXX -fopenmp "$program.traced.o" "$program.plain.o" $of_gpu $RUNNERS $LIBRARIES -o "$program" || exit 1
case $goal in
  try) "$program" "${of_program[@]}" ;;
  show) "$program" --size 64 --show "${PAGE:-$BUILD/show.html}" "${of_program[@]}" ;;
  step) "$program" --step "${of_program[@]}" ;;
  profile) src/lab/profile/profile_file.sh "$program" "${of_program[@]}" ;;
esac
