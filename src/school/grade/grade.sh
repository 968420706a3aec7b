#!/bin/bash
# grade.sh [EXERCISE [ANSWER]]: builds a student's answer and runs the grader on it.
#
#   EXERCISE  its number or its folder's name: 3, 03-coalesce; empty: all answers in answers/
#   ANSWER    the student's file; only its marked regions and `answer` lines are used. Empty:
#             the one in answers/, which begins as a copy of the exercise's kernel.cu
#
# BUILD is where `make grader` has built. From the user: SEED, HINT, STUDENT, LIMIT (seconds per
# shape), COMPILE_S and COMPILE_GB (src/try/limited.sh).
# BRIEF=1: one line with the verdict. RECORD: a CSV file that gets a line for each grading.
# FACTS: a file for what grade_class.sh needs. WORK: the folder for temporary files.
# INSPECT=show, step or debug: shows what the kernel does, without a verdict (src/school/grade/verdict.h);
# then PAGE, INSPECT_FLAGS, BLOCK and THREAD also come from the user.
#
# Exit codes: 0 passed (or the answer's file was made), 1 failed, 2 refused (the answer cannot be graded),
# 3 the grader itself is at fault, or a tool of it is missing or fails, 4 timed out, 5 did not compile,
# 6 used up its processor time.
set -uo pipefail
. src/try/can_work.sh
. src/school/grade/refused.sh
can_work grade || exit
case ${HINT:-0} in
  0 | 1 | 2) ;;
  *)
    echo "HINT=$HINT: give 0 (the symptom), 1 (where to look) or 2 (line and thread)" >&2
    exit 2
    ;;
esac
if [ -z "${1:-}" ]; then
  worst=0
  for folder in exercises/[0-9]*; do
    exercise=${folder#exercises/}
    answer=$(ls "answers/$exercise".* 2> /dev/null | head -n 1)
    if [ -n "$answer" ]; then
      BRIEF=1 "$0" "$exercise" "$answer" || worst=1
    else
      printf '%-24s not begun\n' "$exercise"
    fi
  done 2> >(awk '!seen[$0]++' >&2)
  exit $worst
fi

exercise=
for folder in exercises/[0-9]*; do
  name=${folder#exercises/} number=${folder#exercises/}
  number=${number%%-*}
  case $1 in "$name" | "${name#*-}" | "$number" | "${number#0}") exercise=$name ;; esac
done
[ -n "$exercise" ] || { echo "EX=$1: no such exercise; there are" exercises/[0-9]* >&2; exit 2; }
folder=exercises/$exercise
answer=${2:-}
if [ -z "$answer" ]; then
  answer=$(ls "answers/$exercise".* 2> /dev/null | head -n 1)
fi
if [ -z "$answer" ]; then
  # The file to begin with is start.cu or start.txt, else the empty kernel.
  start=$(ls "$folder"/start.* 2> /dev/null | head -n 1)
  start=${start:-$folder/kernel.cu}
  answer=answers/$exercise.${start##*.}
  mkdir -p answers
  # If numbers are drawn by a student's name, the file contains the name.
  awk '/^answer student:$/ { name = ENVIRON["STUDENT"]; gsub(/[[:cntrl:]]/, " ", name); $0 = $0 " " name; sub(/ +$/, "") }
    { print }' "$start" > "$answer.new" && mv "$answer.new" "$answer" || exit 3
  if grep -q '^answer student:$' "$answer"; then
    echo "Your numbers are drawn by your name: write it in $answer, behind \"answer student:\"."
  fi
  echo "$answer is yours: write in it what $folder/README.md asks for, then run this command again."
  exit 0
fi
# EXERCISE_OBJECTS (a folder), CXX, AS_CPU (how the tracer's copy of a kernel is compiled), COUNTED (what is renamed in it) and
# LIBRARIES.
. "$BUILD/grade/environment" || exit 3
work=$(mktemp -d "${WORK:-$BUILD/grade}/answer.XXXXXX") || exit 3
# Drawn here, so that the record has it.
[ -z "${INSPECT:-}" ] || SEED=${SEED:-1}
SEED=${SEED:-$((1 + (RANDOM << 15 | RANDOM) % 1000000))}
used=0
[ ! -e "${RECORD:-}" ] || used=$(awk -F , -v exercise="$exercise" '
  $2 == exercise && $4 ~ /^[0-2]$/ && $4 > most { most = $4 } END { print most + 0 }' "$RECORD")

# A line for each grading, with the hint level that was printed. Pictures of a failing kernel show
# line and thread, as the highest level does; pictures of a passing kernel are no hint.
record() {
  [ -n "${RECORD:-}" ] || return
  local hint_level=0 verdicts=(passed failed refused "" "timed out" "did not compile" "too much CPU time")
  if [ -n "${INSPECT:-}" ]; then
    [ "$1" = 1 ] && [ "$INSPECT" != debug ] || return
    verdicts[1]=shown
    HINT=2
  fi
  [ -n "${verdicts[$1]:-}" ] || return
  [ "${BRIEF:-}" = 1 ] || case $1 in 1 | 4 | 6) hint_level=${HINT:-0} ;; esac
  mkdir -p "$(dirname "$RECORD")" && {
    [ -s "$RECORD" ] || echo date,exercise,seed,hint,verdict
    echo "$(date -u +%Y-%m-%dT%H:%M:%SZ),$exercise,$SEED,$hint_level,${verdicts[$1]}"
  } >> "$RECORD"
}
trap 'code=$?; rm -rf "$work"; record $code' EXIT

# $1: why, in a sentence; $2: the exit code.
give_up() {
  if [ "${BRIEF:-}" = 1 ]; then
    printf '%-24s %s\n' "$exercise" "$1" | head -n 1
  else
    printf '%s\n' "$1" >&2
  fi
  exit "$2"
}

# The grader is at fault, and not the answer. $1: what it could not do.
broken() {
  local why
  why=$(head -n 1 "$work/why")
  echo "grade: this is the grader's fault and not the answer's: $1${why:+ ($why)}" >&2
  exit 3
}

# A link is followed here; anything else that is not a regular file is not opened.
if [ -e "$answer" ] && [ ! -f "$answer" ]; then give_up "$answer: no file that can be graded" 2; fi
[ -r "$answer" ] || give_up "$answer: there is no such file" 2
[ "$(stat -L -c %s "$answer")" -le 1000000 ] || give_up "$answer: more than 1 MB, no answer" 2
grep -q '[^[:space:]]' "$answer" ||
  give_up "$answer: nothing written yet; begin with a copy of what is in $folder" 1
objects=()

# Runs a step of the compilation under limits; its messages are in $work/why.
compile() {
  src/try/limited.sh "$answer" "$@" 2> "$work/why"
  local code=$?
  [ $code != 124 ] || give_up "$(cat "$work/why")" 5
  return $code
}

if [ -e "$folder/kernel.cu" ]; then
  "$BUILD/grade/assemble" "$folder/kernel.cu" "$answer" > "$work/kernel.cu" 2> "$work/why"
  status=$?
  [ $status = 0 ] || give_up "$(cat "$work/why")" $status

  # The header there is precompiled, which only saves time.
  compile $CXX $AS_CPU -c "$work/kernel.cu" -o "$work/raw.o" ||
    give_up "${BRIEF:+does not compile: }$(grep -m "${BRIEF:-40}" -A 4 'error' "$work/why" || cat "$work/why")" 5
  [ "${BRIEF:-}" = 1 ] || cat "$work/why" >&2

  refused=$(refused "$work/raw.o" "$folder/kernel.cu" 2> "$work/why") || broken "$refused fails"
  case $refused in
    "") ;;
    $'\n'*) give_up "$answer: it has code that runs before the kernel does; a kernel has none" 2 ;;
    *) refused=${refused%%$'\n'*}
      called=$(c++filt "$refused" || echo "$refused")
      line=$(grep -nwm 1 -e "${called%%(*}" "$answer")
      give_up "$answer${line:+:${line%%:*}}: it calls $called, which is not for kernels" 2 ;;
  esac
  compile src/simulator/trace/keep_symbols.sh "$work/raw.o" "$work/kernel.o" _Z3run5ShapePKfS1_Pf $COUNTED ||
    broken "the answer cannot be linked"
  objects=("$work/kernel.o")
fi
compile $CXX "${objects[@]}" "$EXERCISE_OBJECTS/$exercise/exercise.o" "$BUILD/grade/grader.o" \
  ${INSPECT:+"$BUILD/grade/inspect.o"} $LIBRARIES -o "$work/grade" || broken "the answer cannot be linked"

options=(--exercise "$exercise" --file "$answer" --seed "$SEED" --student "${STUDENT:-}"
  --limit "${LIMIT:-}")
case ${INSPECT:-} in
  debug)
    src/try/debug.sh "$work/grade" "${BLOCK:-0,0}" "${THREAD:-0,0}" "${options[@]}" \
      --inspect debug --flags debug
    exit ;;
  show | step)
    OMP_WAIT_POLICY=passive "$work/grade" "${options[@]}" --inspect "$INSPECT" --page "${PAGE:-$BUILD/show.html}" \
      --flags "$INSPECT" ${INSPECT_FLAGS:-}
    exit ;;
esac
OMP_WAIT_POLICY=passive "$work/grade" "${options[@]}" --hint "${HINT:-}" --brief "${BRIEF:-}" \
  --used "$used" --facts "${FACTS:-}"
status=$?
if [ $status = 0 ] && [ "${BRIEF:-}${FACTS:-}" = "" ]; then
  # The next exercise's README says what to read before it.
  next=$(printf '%s\n' exercises/[0-9]* | awk -v this="$folder" 'found { print; exit } $0 == this { found = 1 }')
  if [ -n "$next" ]; then
    number=${next#exercises/} number=${number%%-*}
    awk -v number="${number#0}" '
      NR == 1 { sub(/^# [0-9]*[.] /, ""); printf "next      make grade EX=%s (%s)\n", number, $0 }
      sub(/.*Before it: /, "Before it: ") { before = 1 }
      before {
        gsub(/\[|\]\([^)]*\)/, "")
        ends = sub(/\*$/, "")
        print "          " $0
        if (ends) exit
      }' "$next/README.md"
  else
    echo "next      That was the last exercise. The walkthrough's last chapter says what comes after."
  fi
fi
[ $status -le 6 ] && [ $status != 5 ] && exit $status
exit 3
