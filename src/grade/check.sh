#!/bin/bash
# check.sh BUILD [EXERCISE...]: whether the exercises and their grader keep what they promise. For every
# exercise: its solution passes, its skeleton is the solution with the regions emptied and fails,
# and so do each of the ladder's kernels and at least three typical wrong answers, these with their
# own hints. And every attempt of src/grade/deceptions to deceive the grader fails, for the right reason.
#
# A line for everything that is not so; exit code 1 then. `make grader` builds what this needs.
set -uo pipefail
export BUILD=$1
shift
export OMP_WAIT_POLICY=passive  # threads that wait leave the cores to the others
[ $# -gt 0 ] || set -- $(cd exercises && ls -d [0-9]*)
checks=$(mktemp -d) || exit 2
trap 'rm -rf "$checks"' EXIT

# $1: a name, $2: what it is to come to: passes, fails, begins (fails, without a warning);
# $3: exercise, $4: answer, $5: text to say
one() {
  local said code
  said=$(SEED=${SEED:-1} HINT=2 LIMIT=2 src/grade/grade.sh "$3" "$4" 2>&1)
  code=$?
  [ $code -le 4 ] || echo "$1: the grader failed: $said"
  case $2 in
    passes) [ $code = 0 ] || echo "$1 does not pass: $said" ;;
    fails | begins) [ $code != 0 ] || echo "$1 passes" ;;
  esac
  # What is said may be broken into lines.
  if [ -n "$5" ] && ! tr -s ' \n' '  ' <<< "$said" | grep -qF -- "$5"; then
    echo "$1 is not told \"$5\": $said"
  fi
  if [ "$2" != fails ] && grep -q 'warning:' <<< "$said"; then echo "$1 warns: $said"; fi
}
export -f one

expected() { sed -n '1s|^// expect: ||p' "$1"; }
work=()
for exercise in "$@"; do
  folder=exercises/$exercise
  for needed in README.md exercise.cpp; do
    [ -e "$folder/$needed" ] || echo "$folder/$needed is missing"
  done
  solution=$(ls exercises/solutions/"$exercise".* 2> /dev/null)
  if [ -z "$solution" ]; then
    echo "$exercise: no solution here, so it is not checked" >&2
  else
    work+=("$solution" passes "$exercise" "$solution" "")
    if [ -e "$folder/kernel.cu" ] && [ "${solution##*.}" = cu ]; then
      "$BUILD/exercises/assemble" --empty "$solution" | cmp -s - "$folder/kernel.cu" ||
        echo "$folder/kernel.cu is not $solution with its regions emptied"
    fi
  fi
  for begin in "$folder"/kernel.cu "$folder"/start.*; do
    [ -e "$begin" ] && work+=("$begin" begins "$exercise" "$begin" "")
  done
  wrong=0
  for answer in "$folder"/wrong/*; do
    [ -e "$answer" ] || continue
    wrong=$((wrong + 1))
    expect=$(expected "$answer")
    [ -n "$expect" ] || echo "$answer does not begin with // expect: what it is to be told"
    work+=("$answer" fails "$exercise" "$answer" "$expect")
  done
  [ $wrong -ge 3 ] || echo "$exercise has only $wrong wrong answers; three are wanted"
done
for answer in src/grade/deceptions/*.cu; do
  work+=("$answer" fails 01-index-and-guard "$answer" "$(expected "$answer")")
done
printf '%s\0' "${work[@]}" | xargs -0 -n 5 -P "$(nproc)" bash -c 'one "$@"' check > "$checks/said"

# The ladder's kernels on the exercises' problems: linked in place of an answer. Stage 0 has none.
kernel_stages=$(grep -oP '\.number = \K[1-9][0-9]*' gemm_steps.cu)
. "$BUILD/exercises/environment"
for exercise in "$@"; do
  [ -e "exercises/$exercise/kernel.cu" ] || continue
  $CXX "$BUILD/grade/ladder.o" "$BUILD/gemm_steps_traced.o" "$BUILD/exercises/$exercise.o" \
    "$BUILD/exercises/grader.o" $LIBRARIES -o "$checks/ladder" || exit 2
  for stage in $kernel_stages; do
    LADDER_STAGE=$stage "$checks/ladder" --exercise "$exercise" --brief 1 --seed 1 \
      > "$checks/ladder_said" 2>&1
    code=$?
    [ $code = 1 ] || echo "stage $stage of the ladder in $exercise: $(cat "$checks/ladder_said")"
  done
done >> "$checks/said" || exit
cat "$checks/said"
[ ! -s "$checks/said" ]
