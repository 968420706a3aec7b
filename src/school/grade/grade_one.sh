#!/bin/bash
# grade_one.sh STUDENT EXERCISE FILE HINT_LEVEL DIGEST NAME: grades one answer of a class under limits, for
# grade_class.sh, which sets the environment: BUILD, TEMPORARY, PARTIAL, PIECES, SEED, LIMIT, HINT,
# ANSWER_S, MEMORY_GB, MOST_PROCESSES. Leaves what the grader says in PIECES/STUDENT/EXERCISE, and then
# appends one row to PARTIAL, by one write. NAME is what an instance is drawn by where the answer says none.
set -uo pipefail
export LC_ALL=C
student=$1 exercise=$2 file=$3 hint=$4 digest=$5 name=$6
. "$BUILD/grade/environment" || exit 1
work=$(mktemp -d "$TEMPORARY/answer.XXXXXX") || exit 1
answer=$work/$exercise.${file##*.}

# What an exercise begins with is no answer, and an empty file is none.
is_written() {
  local begin bare formulas=
  [ "${answer##*.}" = cu ] || formulas=1
  bare=$(awk -v formulas="$formulas" -f src/school/grade/bare.awk "$answer" | tr -d '\000')
  [ -n "$bare" ] || return 1
  for begin in exercises/"$exercise"/start.* "exercises/$exercise/kernel.cu"; do
    [ ! -e "$begin" ] || [ "${begin##*.}" != "${answer##*.}" ] ||
      [ "$bare" != "$(awk -v formulas="$formulas" -f src/school/grade/bare.awk "$begin")" ] || return 1
  done
}

# What runs under these limits is a student's. Those that a system does not have are left out.
grade() (
  ulimit -c 0
  ulimit -v $((MEMORY_GB << 20))
  ulimit -f $((512 << 10))
  # The softer one can be told from other ends.
  ulimit -St "$ANSWER_S"
  ulimit -Ht $((ANSWER_S + 5))
  ulimit -n 256
  # Of all of this user's processes, with room for compilers and OpenMP's threads.
  [ -z "$MOST_PROCESSES" ] || ulimit -u "$MOST_PROCESSES"
  exec env -i PATH="$PATH" LC_ALL=C HOME="$work" TMPDIR="$work" BUILD="$BUILD" WORK="$work" \
    SEED="$SEED" STUDENT="$name" LIMIT="${LIMIT:-}" HINT="$HINT" FACTS="$work/facts" \
    COMPILE_S="${COMPILE_S:-}" COMPILE_GB="${COMPILE_GB:-}" OMP_NUM_THREADS=2 \
    timeout -k 5 "$ANSWER_S" src/school/grade/grade.sh "$exercise" "$answer"
)

said=
if [ "$digest" = "more than 1 MB" ]; then
  code=2 said="the file has more than 1 MB, so it is no answer"
else
  head -c 1000001 -- "$file" > "$answer" || exit 1
  if is_written; then
    grade > "$work/said" 2>&1 < /dev/null
    code=$?
    [ -d "$work" ] || exit 1 # interrupted: that is no verdict
    # Nothing that a terminal would obey, and no paths of this machine.
    said=$(tr -d '\000-\010\013-\037\177' < "$work/said")
    said=${said//"$work/"/}
    # That is about this system; grade_class.sh says it once.
    case $said in *"grants no filter of system calls"*)
      grep -h 'grants no filter of system calls' <<< "$said" > "$TEMPORARY/unlocked"
      said=$(grep -v 'grants no filter of system calls' <<< "$said") ;;
    esac
  else
    code=empty said="nothing is written yet between the marked lines, or behind the colons"
  fi
fi
case $code in
  0) verdict=passed ;;
  1) verdict=failed ;;
  2) verdict=refused ;;
  3) verdict="did not compile" ;;
  4) verdict="timed out" ;;
  6 | 152) verdict="too much CPU time" ;;
  124 | 137)
    verdict="took too long"
    said="compiling and running it took more than $ANSWER_S s altogether" ;;
  empty) verdict="nothing written yet" ;;
  *) verdict="grader error" ;;
esac
right=– hazard_free=– target=– whose= drawn_for=
if [ -s "$work/facts" ]; then
  for fact in right hazard_free target whose drawn_for; do IFS= read -r "$fact"; done < "$work/facts"
fi
# Formulas are about a kernel that is not the student's.
if [ "${file##*.}" = txt ]; then
  right= hazard_free=
fi
# A point each for what is right, and then for what it keeps.
score=0
for kept in "$right" "$hazard_free" "$target"; do [ "$kept" != yes ] || score=$((score + 1)); done
[ "$right" = yes ] || score=0
[ "$verdict" != passed ] || score=3
# It may be the student's all the same, with a nickname or a login.
if [ "$whose" = another ]; then
  verdict="another name" score=–
  said+=$'\n\n'"Whether $drawn_for is the name of $student is for the lecturer to say, and so are the points."
fi
if [ "$verdict" = "grader error" ]; then
  score=–
  tail -n 5 <<< "$said" >&2
fi

piece=$PIECES/$student/$exercise
mkdir -p "$PIECES/$student" && {
  printf '%s: %s, %s of 3 points\n' "$exercise" "$verdict" "$score"
  sed 's/^./  &/' <<< "$said"
} > "$piece.new" && mv "$piece.new" "$piece" || exit 1
rm -rf "$work"
printf '"%s",%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n' "${student//\"/\"\"}" "$exercise" "$verdict" "$score" \
  "${right:-–}" "${hazard_free:-–}" "${target:-–}" "${drawn_for:-–}" "$hint" "$SEED" "$digest" >> "$PARTIAL"
printf '%-28.28s %-24s %s\n' "$student" "$exercise" "$verdict"
