#!/bin/bash
# make grade-class DIR=submissions: grades the folders of a class and writes a table of them.
#
#   DIR/STUDENT/NN-name.cu (or .txt)   what a student handed in, named as in answers/; also in
#   DIR/STUDENT/answers/               where the whole folder was handed in
#   .../grades.csv                     beside them: the record of hint levels, where it was handed in
#
# From the user: DIR; EX (only these exercises, by number or name); OUT (the table, DIR/class.csv);
# JOBS (how many at a time); SEED (all answers are graded with the same one; a fresh one where it is
# not given); LIMIT (seconds a shape); ANSWER_S (seconds for an answer, with its compilation; 120);
# MEMORY_GB (of each process; 8); SIMILAR (the part that two answers must share to be listed; 0.8).
#
# While it goes on, rows are kept in OUT.partial, and a run that was interrupted goes on from there:
# what was graded and is still the same file is not graded again. When all are done the table is
# sorted and takes OUT's place at once. Pairs of answers that resemble each other are listed beside
# it, in OUT less .csv, with -pairs.csv.
#
# Exit codes: 0 all graded, 1 the grader itself was at fault somewhere, 2 refused.
set -uo pipefail
export LC_ALL=C  # names are bytes
refuse() { echo "grade-class: $*" >&2; exit 2; }
whole() { [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || refuse "$1=$2: give a whole number, for example $1=$3"; }

DIR=${DIR:-} DIR=${DIR%/}
[ -n "$DIR" ] || refuse "which folder? make grade-class DIR=submissions"
[ -d "$DIR" ] || refuse "DIR=$DIR: there is no such folder"
case $DIR in /* | ./*) ;; *) DIR=./$DIR ;; esac
OUT=${OUT:-$DIR/class.csv}
case $OUT in *.csv) ;; *) refuse "OUT=$OUT: give a file that ends in .csv" ;; esac
case $OUT in /* | ./*) ;; *) OUT=./$OUT ;; esac
JOBS=${JOBS:-$(nproc)} ANSWER_S=${ANSWER_S:-120} MEMORY_GB=${MEMORY_GB:-8} SIMILAR=${SIMILAR:-0.8}
whole JOBS "$JOBS" 4
whole ANSWER_S "$ANSWER_S" 120
whole MEMORY_GB "$MEMORY_GB" 8
[ -z "${SEED:-}" ] || whole SEED "$SEED" 7
[[ ${LIMIT:-10} =~ ^[0-9]{1,4}(\.[0-9]{1,3})?$ ]] ||
  refuse "LIMIT=$LIMIT: give seconds, for example LIMIT=10"
"$BUILD/grade/similar" "$SIMILAR" < /dev/null > /dev/null || exit 2

exercises=()
for folder in exercises/[0-9]*; do
  name=${folder#exercises/} number=${folder#exercises/}
  number=${number%%-*}
  for asked in ${EX:-"$name"}; do
    case $asked in "$name" | "${name#*-}" | "$number" | "${number#0}") exercises+=("$name") ;; esac
  done
done
[ ${#exercises[@]} -gt 0 ] || refuse "EX=$EX: no such exercise; there are" exercises/[0-9]*

header=student,exercise,verdict,right,hazard_free,target,hint,seed,sha256
partial=$OUT.partial
if [ -s "$partial" ]; then
  # The last row may have been cut off.
  if [ -n "$(tail -c 1 "$partial")" ]; then
    { sed '$d' "$partial" > "$partial.cut" && mv "$partial.cut" "$partial"; } ||
      refuse "$partial cannot be written"
  fi
  begun_with=$(sed -n '1s/^# seed //p' "$partial")
  [[ $begun_with =~ ^[1-9][0-9]{0,5}$ ]] || refuse "$partial is not of this program; remove it"
  [ -z "${SEED:-}" ] || [ "$SEED" = "$begun_with" ] ||
    refuse "$partial was begun with SEED=$begun_with; remove it to begin anew"
  SEED=$begun_with
  echo "goes on where $partial ends"
else
  SEED=${SEED:-$((1 + (RANDOM << 15 | RANDOM) % 999999))}
  echo "# seed $SEED" 2> /dev/null > "$partial" || refuse "OUT=$OUT: cannot be written"
fi
exec 9< "$partial"
! command -v flock > /dev/null || flock -n 9 || refuse "another run is at work on $partial"

temporary=$(mktemp -d) || exit 2
# What still runs when this ends finds its folder renamed, and then writes no row.
trap 'mv "$temporary" "$temporary.over"; rm -rf "$temporary.over"' EXIT
trap 'exit 130' INT TERM

# A file of a student's, if it is a plain one of a size that an answer may have. Links might lead
# out of the folder.
plain() { [ -f "$1" ] && [ ! -L "$1" ]; }

csv() { local text=${1//\"/\"\"}; printf '"%s"' "$text"; }

# The highest hint level in a record that was handed in; nothing where there is none. It is a
# student's own text.
hint_level() {
  plain "$1" && [ "$(stat -c %s "$1")" -le 1000000 ] || return 0
  LC_ALL=C awk -F , -v exercise="$2" '
    $2 == exercise && $4 ~ /^[0-2]$/ { if (!any || $4 > most) most = $4; any = 1 }
    END { if (any) print most }' "$1"
}

# Grades one answer under limits. $1: student, $2: exercise, $3: its file, $4: hint level, $5:
# digest. Appends one row by one write.
one() {
  local student=$1 exercise=$2 file=$3 hint=$4 digest=$5 work code verdict facts
  work=$(mktemp -d "$temporary/answer.XXXXXX") || return 1
  local answer=$work/$exercise.${file##*.}
  if [ "$(stat -c %s "$file")" -gt 1000000 ]; then
    echo "more than 1 MB, no answer" > "$work/said"
    code=2
  else
    cp -- "$file" "$answer"
    # What runs under these limits is a student's. Those that a system does not have are left out.
    (
      ulimit -c 0
      ulimit -v $((MEMORY_GB << 20))
      ulimit -f $((512 << 10))
      ulimit -t "$ANSWER_S"
      ulimit -n 256
      # Of all of this user's processes, with room for compilers and OpenMP's threads.
      [ -z "$most_processes" ] || ulimit -u "$most_processes"
      exec env -i PATH="$PATH" LC_ALL=C HOME="$work" TMPDIR="$work" BUILD="$BUILD" WORK="$work" \
        SEED="$SEED" STUDENT="$student" LIMIT="${LIMIT:-}" BRIEF=1 FACTS="$work/facts" \
        OMP_NUM_THREADS=2 timeout -k 5 "$ANSWER_S" src/grade/grade.sh "$exercise" "$answer"
    ) > "$work/said" 2>&1 < /dev/null
    code=$?
  fi
  [ -d "$work" ] || return 1  # interrupted: that is no verdict
  case $code in
    0) verdict=passed ;;
    1) verdict=failed ;;
    2) verdict=refused ;;
    3) verdict="did not compile" ;;
    4 | 124 | 137 | 152) verdict="timed out" ;;
    *) verdict="grader error" ;;
  esac
  facts=",,"
  if [ -s "$work/facts" ]; then facts=$(head -n 3 "$work/facts" | paste -sd ,); fi
  [ "$verdict" != "grader error" ] || tail -n 5 "$work/said" >&2
  rm -rf "$work"
  printf '%s,%s,%s,%s,%s,%s,%s\n' "$(csv "$student")" "$exercise" "$verdict" "$facts" "$hint" \
    "$SEED" "$digest" >> "$partial"
  printf '%-28.28s %-24s %s\n' "$student" "$exercise" "$verdict"
}
export -f one csv
export BUILD SEED LIMIT MEMORY_GB ANSWER_S partial temporary
most_processes=$(ps -L --no-headers -u "$(id -u)" 2> /dev/null | wc -l)
most_processes=$([ "$most_processes" = 0 ] || echo $((most_processes + 200 * JOBS + 1000)))
export most_processes

# Of every row what it is about: student, exercise and digest, as they stand in it.
about_rows() {
  sed -E '1d; s/(,[^,]*){6}(,[^,]*)$/\2/' "$1"
}
declare -A known
while IFS= read -r row; do
  known[$row]=1
done < <(about_rows "$partial")

work=() answers=() refused=0 students=0 shopt_before=$(shopt -p nullglob)
: > "$temporary/absent" > "$temporary/wanted"
shopt -s nullglob
for folder in "$DIR"/*/; do
  folder=${folder%/}
  student=${folder##*/}
  if [ -L "$folder" ]; then
    why="a link"
  elif [[ $student =~ [[:cntrl:]] ]]; then
    why="a name with a line break or another control character"
  elif [[ $student == [=+@-]* ]]; then
    why="a name that a spreadsheet takes for a formula"
  else
    why=
  fi
  if [ -n "$why" ]; then
    printf 'grade-class: %q: left out, it is %s; rename it\n' "$folder" "$why" >&2
    refused=$((refused + 1))
    continue
  fi
  students=$((students + 1))
  inside=$folder
  [ ! -d "$folder/answers" ] || [ -L "$folder/answers" ] || inside=$folder/answers
  for exercise in "${exercises[@]}"; do
    # As the exercise begins: start.txt, or else a kernel.
    begin=(exercises/"$exercise"/start.*)
    file=$inside/$exercise.$([ ${#begin[@]} = 0 ] && echo cu || echo "${begin[0]##*.}")
    if ! plain "$file"; then
      printf '%s,%s,not handed in,,,,,%s,\n' "$(csv "$student")" "$exercise" "$SEED" \
        >> "$temporary/absent"
      continue
    fi
    digest=$(sha256sum < "$file" | cut -c 1-16)
    case $file in *.cu) answers+=("$exercise" "$student" "$file") ;; esac
    about=$(csv "$student"),$exercise,$digest
    printf '%s\n' "$about" >> "$temporary/wanted"
    [ -n "${known[$about]:-}" ] || work+=("$student" "$exercise" "$file" \
      "$(hint_level "$inside/grades.csv" "$exercise")" "$digest")
  done
done
eval "$shopt_before"
[ $students -gt 0 ] || refuse "DIR=$DIR: holds no folder of a student; see exercises/TEACHING.md"

if [ ${#work[@]} -gt 0 ]; then
  printf '%s\0' "${work[@]}" | xargs -0 -n 5 -P "$JOBS" bash -c 'one "$@"' grade-class 9<&- ||
    { echo "grade-class: not all were graded; the same command goes on" >&2; exit 1; }
fi

# Rows of files that were changed or taken away since the run began are left out.
table=$OUT.new
{
  echo "$header"
  {
    paste -d '\n' <(about_rows "$partial") <(sed 1d "$partial") | LC_ALL=C awk '
      NR == FNR { wanted[$0] = 1; next }
      FNR % 2 == 1 { print_next = wanted[$0]; wanted[$0] = 0; next }
      print_next' "$temporary/wanted" -
    cat "$temporary/absent"
  } | LC_ALL=C sort
} > "$table" && mv "$table" "$OUT" && rm "$partial" || refuse "OUT=$OUT: cannot be written"

pairs=${OUT%.csv}-pairs.csv
printf '%s\0' "${answers[@]}" | "$BUILD/grade/similar" "$SIMILAR" > "$pairs.new" &&
  mv "$pairs.new" "$pairs" || refuse "$pairs: cannot be written"
found=$(($(wc -l < "$pairs") - 1))
echo "$students students, ${#exercises[@]} exercises: $OUT"
echo "$found pairs of answers resemble each other: $pairs"
[ "$refused" = 0 ] || echo "$refused folders left out, see above"
! grep -q ',grader error,' "$OUT"
