#!/bin/bash
# make grade-class DIR=submissions: grades the folders of a class and writes a table of them.
#
#   DIR    a folder for each student, or what a learning platform exports: src/school/grade/handed_in.sh
#
# From the user: DIR; EX (only these exercises, by number or name); OUT (the table, DIR/class.csv);
# JOBS (how many at a time); SEED (all answers are graded with the same one; a fresh one where it is
# not given); HINT (the level of what students are told; 2); LIMIT (seconds a shape); ANSWER_S (seconds
# for an answer, with its compilation, and of processor time for each of its processes; 120);
# COMPILE_S, COMPILE_GB (src/try/limited.sh); MEMORY_GB (of each process; 8); SIMILAR (the part that
# two answers must share to be listed; 0.8).
#
# While it goes on, rows are kept in OUT.partial, and a run that was interrupted goes on from there:
# what was graded and is still the same file is not graded again. When all are done the table is
# sorted and takes OUT's place at once. Beside it, with OUT less .csv as the beginning of their names:
#
#   -pairs.csv   answers that resemble each other
#   -feedback/   for every student a text file: what the grader says
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
pairs=${OUT%.csv}-pairs.csv feedback=${OUT%.csv}-feedback
for file in "$OUT" "$pairs"; do
  [ ! -d "$file" ] ||
    refuse "$file: is a folder, but the table is to be written there; rename it, or give another OUT"
done
if [ -e "$feedback" ] && [ ! -e "$feedback/.grade-class" ]; then
  refuse "$feedback: is not of this program, but feedback is to be written there; rename it, or give" \
    "another OUT"
fi
JOBS=${JOBS:-$(nproc)} HINT=${HINT:-2} SIMILAR=${SIMILAR:-0.8}
ANSWER_S=${ANSWER_S:-120} MEMORY_GB=${MEMORY_GB:-8}
whole JOBS "$JOBS" 4
whole ANSWER_S "$ANSWER_S" 120
whole MEMORY_GB "$MEMORY_GB" 8
[ -z "${SEED:-}" ] || whole SEED "$SEED" 7
[[ $HINT =~ ^[012]$ ]] ||
  refuse "HINT=$HINT: give 0 (the symptom), 1 (where to look) or 2 (line and thread)"
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

header=student,exercise,verdict,score,right,hazard_free,target,drawn_for,hint,seed,sha256
partial=$OUT.partial pieces=$OUT.partial-feedback
[ ! -d "$partial" ] || refuse "$partial: is a folder; rename it"
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

csv() { local text=${1//\"/\"\"}; printf '"%s"' "$text"; }

# The highest hint level in a record that was handed in; nothing where there is none. It is a
# student's own text.
hint_level() {
  [ -f "$1" ] && [ ! -L "$1" ] && [ "$(stat -c %s "$1")" -le 1000000 ] || return 0
  awk -F , -v exercise="$2" '
    $2 == exercise && $4 ~ /^[0-2]$/ { if (!any || $4 > most) most = $4; any = 1 }
    END { if (any) print most }' "$1"
}

most_processes=$(ps -L --no-headers -u "$(id -u)" 2> /dev/null | wc -l)
most_processes=$([ "$most_processes" = 0 ] || echo $((most_processes + 200 * JOBS + 1000)))
export BUILD SEED LIMIT HINT MEMORY_GB ANSWER_S COMPILE_S COMPILE_GB
export TEMPORARY=$temporary PARTIAL=$partial PIECES=$pieces MOST_PROCESSES=$most_processes

# Of every row what it is about: student, exercise and digest, as they stand in it.
about_rows() {
  sed -E '1d; s/(,[^,]*){8}(,[^,]*)$/\2/' "$1"
}
declare -A known
while IFS= read -r row; do
  known[$row]=1
done < <(about_rows "$partial")

src/school/grade/handed_in.sh "$DIR" "${exercises[@]}" > "$temporary/handed_in" 2> "$temporary/left_out"
cat "$temporary/left_out" >&2
left_out=$(wc -l < "$temporary/left_out")
declare -A given
work=() answers=() students=() last=
: > "$temporary/absent" > "$temporary/wanted"
while IFS= read -rd '' student && IFS= read -rd '' exercise && IFS= read -rd '' file &&
  IFS= read -rd '' record && IFS= read -rd '' name; do
  [ "$last" = "$student" ] || students+=("$student")
  last=$student
  if [ -z "$file" ]; then
    printf '%s,%s,not handed in,0,–,–,–,–,,%s,\n' "$(csv "$student")" "$exercise" "$SEED" \
      >> "$temporary/absent"
    continue
  fi
  # A large file is not even read.
  if [ "$(stat -c %s -- "$file")" -gt 1000000 ]; then
    digest="more than 1 MB"
  else
    digest=$(sha256sum < "$file" | cut -c 1-16)
    case $file in *.cu) answers+=("$exercise" "$student" "$file") ;; esac
  fi
  given[$student/$exercise]=1
  about=$(csv "$student"),$exercise,$digest
  printf '%s\n' "$about" >> "$temporary/wanted"
  [ -n "${known[$about]:-}" ] ||
    work+=("$student" "$exercise" "$file" "$(hint_level "$record" "$exercise")" "$digest" "$name")
done < "$temporary/handed_in"
[ ${#students[@]} -gt 0 ] ||
  refuse "DIR=$DIR: holds no folder or file of a student; see exercises/TEACHING.md"
mkdir -p "$pieces" && : > "$pieces/.grade-class" || refuse "OUT=$OUT: cannot be written"

if [ ${#work[@]} -gt 0 ]; then
  printf '%s\0' "${work[@]}" | xargs -0 -n 6 -P "$JOBS" src/school/grade/grade_one.sh 9<&- ||
    { echo "grade-class: not all were graded; the same command goes on" >&2; exit 1; }
fi

# Rows of files that were changed or taken away since the run began are left out.
table=$OUT.new
{
  echo "$header"
  {
    paste -d '\n' <(about_rows "$partial") <(sed 1d "$partial") | awk '
      NR == FNR { wanted[$0] = 1; next }
      FNR % 2 == 1 { print_next = wanted[$0]; wanted[$0] = 0; next }
      print_next' "$temporary/wanted" -
    cat "$temporary/absent"
  } | sort
} > "$table" || refuse "OUT=$OUT: cannot be written"

# A text file for each student, in a folder that takes the place of the last one.
new=$temporary/feedback
mkdir "$new" && : > "$new/.grade-class"
for student in "${students[@]}"; do
  name=$student
  [ ${#name} -le 200 ] || name=${name:0:180}-$(sha256sum <<< "$name" | cut -c 1-16)
  {
    printf '%s\n' "$student"
    for exercise in "${exercises[@]}"; do
      echo
      if [ -z "${given[$student/$exercise]:-}" ]; then
        echo "$exercise: not handed in"
      else
        cat -- "$pieces/$student/$exercise"
      fi
    done
  } > "$new/$name.txt"
done
rm -rf "$feedback.new" "$feedback.old"
cp -r "$new" "$feedback.new" && { [ ! -e "$feedback" ] || mv "$feedback" "$feedback.old"; } &&
  mv "$feedback.new" "$feedback" || refuse "$feedback: cannot be written"
rm -rf "$feedback.old"
printf '%s\0' "${answers[@]}" | "$BUILD/grade/similar" "$SIMILAR" > "$pairs.new" &&
  mv "$pairs.new" "$pairs" || refuse "$pairs: cannot be written"
mv "$table" "$OUT" && rm -rf "$partial" "$pieces" || refuse "OUT=$OUT: cannot be written"

found=$(($(wc -l < "$pairs") - 1))
echo "${#students[@]} students, ${#exercises[@]} exercises: $OUT"
echo "what each is told: $feedback"
echo "$found pairs of answers resemble each other: $pairs"
others=$(grep -c '^".*,another name,' "$OUT")
[ "$others" = 0 ] || echo "answers that say another name than the student's: $others (drawn_for in the table)"
[ "$left_out" = 0 ] || echo "$left_out left out, see above"
[ ! -e "$temporary/unlocked" ] || head -n 1 "$temporary/unlocked" >&2
! grep -q ',grader error,' "$OUT"
