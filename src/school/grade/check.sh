#!/bin/bash
# check.sh BUILD [EXERCISE...]: checks the exercises and their grader. For every exercise: its solution
# passes, its skeleton is the solution with the regions emptied and fails, and so do the ladder's
# kernels and at least three typical wrong answers, these with their own hints. Honest answers in many
# styles pass. Every attempt to deceive the grader fails, for the right reason. And the solution fails
# with any of its indices wrong, with the shapes that SEEDS draw (by default 1).
#
# GEMM_STEPS_SOLUTIONS=1 checks only solutions and skeletons, as `make test` does; with 0, only the
# others.
#
# Prints a line for each failure; the exit code is then 1. `make grader` builds what this needs.
set -uo pipefail
. src/try/can_work.sh
. src/school/grade/refused.sh
can_work check-exercises || exit
export BUILD=$1
shift
jobs=$(nproc)             # which heeds OMP_NUM_THREADS
export OMP_NUM_THREADS=1  # all cores are at work anyway, each on an answer of its own
[ $# -gt 0 ] || set -- "[0-9]*"
named() { local found; found=$(cd exercises && ls -d $1 $1-* 0$1-* 2> /dev/null | sort -u); echo "${found:-$1}"; } # 5: 05-find-the-race
set -- $(for one; do named "$one"; done)
checks=$(mktemp -d) || exit 2
trap 'rm -rf "$checks"' EXIT
export CHECKS=$checks
export SEEDS=${SEEDS:-1}
# The numbers of the ladder's stages, except the one without a kernel.
export STAGES=$(awk -f src/text/declarations.awk gemm_steps.cu | awk '$1 == "stage" && $2 > 0 { print $2 }')
[ -n "$STAGES" ] || { echo "gemm_steps.cu: no table of stages was found"; exit 1; }

# Grades an answer. $1: a name, $2: the expected result: passes, fails, wrong (fails, and no message
# names a line that the solution leaves unchanged), begins (fails, without a warning), honest (passes,
# and may have warnings); $3: exercise, $4: answer, $5: the expected words of the message, as in
# exercises/TEACHING.md
one() {
  local output code
  output=$(SEED=${SEED:-1} HINT=2 LIMIT=3 src/school/grade/grade.sh "$3" "$4" 2>&1)
  code=$?
  judge "$@"
}
judge() {
  local blamed flat words
  [ $code != 3 ] || echo "$1: the grader failed: $output"
  case $2 in
    passes | honest) [ $code = 0 ] || echo "$1 does not pass: $output" ;;
    fails | wrong | begins) [ $code != 0 ] || echo "$1 passes" ;;
  esac
  # A line that a message names must have to do with the mistake.
  if [ "$2" = wrong ]; then
    blamed=$(diff "$4" exercises/solutions/"$3".* |
      awk -v hint="$(sed -n '/^detail/,$p' <<< "$output" | tr -s ' \n' '  ')" -f src/school/grade/blame.awk - "$4")
    [ -z "$blamed" ] || echo "the message for $1 names line$blamed, which the solution does not change: $output"
  fi
  # Messages may be broken into lines.
  flat=$(tr -s ' \n' '  ' <<< "$output")
  while read -r words; do
    case $words in
      "not: "*) [[ $flat != *"${words#not: }"* ]] || echo "the message for $1 has \"${words#not: }\": $output" ;;
      "later: "*) [[ ${flat#* detail } = *"${words#later: }"* && ${flat%% detail *} != *"${words#later: }"* ]] ||
        echo "the message for $1 does not have, at HINT=2 and only there, \"${words#later: }\": $output" ;;
      *) [[ $flat = *"$words"* ]] || echo "the message for $1 does not have \"$words\": $output" ;;
    esac
  done <<< "${5// | /$'\n'}"
  if [[ $2 = passes || $2 = begins ]] && grep -q 'warning:' <<< "$output"; then echo "$1 warns: $output"; fi
}

# Links a program that runs many mutants of an answer to exercise $1, each in a process of its own.
# $2: the program; the others: objects.
mutants() {
  local exercise=$1 program=$2
  shift 2
  $CXX -Wl,-z,muldefs "$BUILD/src/school/grade/index_mutants.o" "$@" "$EXERCISE_OBJECTS/$exercise/exercise.o" \
    "$BUILD/grade/grader.o" $LIBRARIES -o "$program"
}

# Grades several answers to exercise $1, whose tasks are in the file $2, with one program that has them
# all: that is compiled and linked in a fraction of the time. If it cannot be made, grades them alone.
together() {
  local output code number cases= work=$2.d object=
  local -a tasks
  mapfile -d '' -t tasks < "$2"
  . "$BUILD/grade/environment"
  mkdir "$work"
  [ ! -e "exercises/$1/kernel.cu" ] || object=$work/kernel.o
  {
    [ -z "$object" ] || {
      (
        printf '#include <cstdlib>\n' && grep '^#include' "exercises/$1/kernel.cu"
        for ((number = 0; number < ${#tasks[@]}; number += 5)); do
          printf 'namespace answer_%s {\n#include "%s"\n}\n' "$number" "$work/$number.cu"
          "$BUILD/grade/assemble" "exercises/$1/kernel.cu" "${tasks[number + 3]}" > "$work/$number.cu" || exit
          cases+="case $number: return answer_$number::run(shape, A, B, C);"
        done
        printf 'void run(Shape shape, const float* A, const float* B, float* C) {
          switch (std::atoi(std::getenv("ANSWER"))) { %s } }\n' "$cases"
      ) > "$work/kernel.cu" && $CXX $AS_CPU -c "$work/kernel.cu" -o "$work/raw.o" &&
        [ -z "$(refused "$work/raw.o" "exercises/$1/kernel.cu" '^(atoi|getenv)$')" ] &&
        src/simulator/trace/keep_symbols.sh "$work/raw.o" "$object" _Z3run5ShapePKfS1_Pf $COUNTED
    } && $CXX $object "$EXERCISE_OBJECTS/$1/exercise.o" "$BUILD/grade/grader.o" $LIBRARIES -o "$work/grade"
  } 2> /dev/null
  for ((number = 0; number < ${#tasks[@]}; number += 5)); do
    [ -e "$work/grade" ] || { one "${tasks[@]:number:5}"; continue; }
    output=$(ANSWER=$number "$work/grade" --exercise "$1" --file "${tasks[number + 3]}" --seed "${SEED:-1}" \
      --hint 2 --limit 3 2>&1)
    code=$?
    output=${output//answer_$number::/}
    judge "${tasks[@]:number:5}"
  done
  rm -r "$work"
}

# The ladder's kernels on the problem of exercise $1: linked in place of an answer.
ladder() {
  local output
  . "$BUILD/grade/environment"
  mutants "$1" "$CHECKS/ladder-$1" "$BUILD/src/school/grade/ladder.o" "$BUILD/gemm_steps_traced.o" 2>&1 ||
    { echo "the ladder's kernels cannot be run on $1"; return; }
  output=$(printf 'stage %s\n' $STAGES | "$CHECKS/ladder-$1" 1 2>&1) ||
    echo "a stage of the ladder passes in $1 (exit code $?): $output"
  rm "$CHECKS/ladder-$1"
}

# The solution $2 of exercise $1 with wrong indices, chosen at run time.
indices() {
  local output work=$CHECKS/indices-$1
  . "$BUILD/grade/environment"
  mkdir "$work" && {
    awk -v into="$work/kernel.cu" -f src/school/grade/index_mutants.awk "$2" > "$work/list" &&
      $CXX $AS_CPU -c "$work/kernel.cu" -o "$work/raw.o" &&
      src/simulator/trace/keep_symbols.sh "$work/raw.o" "$work/kernel.o" _Z3run5ShapePKfS1_Pf $COUNTED &&
      mutants "$1" "$work/mutants" "$work/kernel.o"
  } 2>&1 || { echo "$2: no mutants could be made"; return; }
  output=$({ echo none; cat "$work/list"; } | "$work/mutants" $SEEDS 2>&1) ||
    echo "$2: wrong indices are not noticed (exit code $?): $output"
  rm -r "$work"
}

# The tasks, five words each.
task() {
  case $2 in
    ladder) ladder "$3" ;;
    indices) indices "$3" "$4" ;;
    together) together "$3" "$4" ;;
    *) one "$@" ;;
  esac
}
export -f one judge refused together mutants ladder indices task
tasks=()

# Adds a task for each answer that the list of edits $1 makes; the expected result is $2. The words of
# an edit are the expected message if the answer fails, and describe an honest answer. Sets `made` to
# their number. Wrong and honest answers are graded together, MANY at a time: the shared arrays of all
# must lie within the 256 KB that a descriptor of wgmma reaches.
MANY=8
add_edits() {
  local folder name answer words file exercise
  local -a one
  made=0
  folder=$(mktemp -d -p "$checks") || exit 2
  awk -v into="$folder" -f src/text/edits.awk "$1" 2>&1 > "$folder/list"
  while IFS=$'\t' read -r name answer words file; do
    exercise=${file#exercises/} exercise=${exercise#solutions/}
    [ "$2" != honest ] || words=
    one=("$1: $name" "$2" "${exercise%%[./]*}" "$answer" "$words")
    if [ "$2" = fails ]; then
      tasks+=("${one[@]}")
    else
      [ $((made % MANY)) != 0 ] || tasks+=("" together "${one[2]}" "$folder/$made.tasks" "")
      printf '%s\0' "${one[@]}" >> "${tasks[-2]}"
    fi
    made=$((made + 1))
  done < "$folder/list"
}

for exercise in "$@"; do
  folder=exercises/$exercise
  for needed in README.md exercise.cpp; do
    [ -e "$folder/$needed" ] || echo "$folder/$needed is missing"
  done
  [ ! -e "$folder/kernel.cu" ] || tasks+=("" ladder "$exercise" "" "")
  for begin in "$folder"/kernel.cu "$folder"/start.*; do
    [ -e "$begin" ] && tasks+=("$begin" begins "$exercise" "$begin" "")
  done
  made=0
  [ ! -e "$folder/wrong.txt" ] || add_edits "$folder/wrong.txt" wrong
  solution=$(ls exercises/solutions/"$exercise".* 2> /dev/null)
  if [ -z "$solution" ]; then
    echo "$exercise: no solution here, so neither it nor the wrong answers made of it are checked" >&2
    continue
  fi
  [ "$made" -ge 3 ] || echo "$exercise has only $made wrong answers; three are wanted"
  tasks+=("$solution" passes "$exercise" "$solution" "")
  honest=exercises/solutions/honest/$exercise.txt
  [ ! -e "$honest" ] || add_edits "$honest" honest
  if [ -e "$folder/kernel.cu" ] && [ "${solution##*.}" = cu ]; then
    "$BUILD/grade/assemble" --empty "$solution" | cmp -s - "$folder/kernel.cu" ||
      echo "$folder/kernel.cu is not $solution with its regions emptied"
    tasks+=("" indices "$exercise" "$solution" "")
  fi
done > "$checks/failures"
add_edits src/school/grade/deceptions.txt fails >> "$checks/failures"
for answer in src/school/grade/deceptions/*.cu; do
  tasks+=("$answer" fails 01-index-and-guard "$answer" "$(sed -n '1s|^// expect: ||p' "$answer")")
done
if [ -n "${GEMM_STEPS_SOLUTIONS:-}" ]; then
  few=()
  for ((t = 0; t < ${#tasks[@]}; t += 5)); do
    case $GEMM_STEPS_SOLUTIONS,${tasks[t + 1]} in 1,passes | 1,begins | 0,[!pb]*) few+=("${tasks[@]:t:5}") ;; esac
  done
  tasks=("${few[@]}")
fi
printf '%s\0' "${tasks[@]}" | xargs -0 -n 5 -P "$jobs" bash -c 'task "$@"' check >> "$checks/failures"
cat "$checks/failures"
[ ! -s "$checks/failures" ]
