#!/bin/bash
# make grade-class DIR=submissions: grades the folders of a class and writes a table of them.
#
#   DIR    a folder for each student, or what a learning platform exports: see handed_in below
#
# From the user: DIR; EX (only these exercises, by number or name); OUT (the table, DIR/class.csv);
# JOBS (how many at a time); SEED (the same for all answers; by default a new one); HINT (the hint
# level of the feedback; 2); LIMIT (seconds per shape); ANSWER_S (seconds of processor time for each
# process of an answer, also of its compilation; 120; by the clock ten times as many, at least 600, end what waits); COMPILE_S, COMPILE_GB
# (src/try/limited.sh); MEMORY_GB (of each process; 8); SIMILAR (the part that two answers must share
# to be listed; 0.8).
#
# During a run, rows are kept in OUT.partial. A run after an interrupted one continues from there: a
# file that was graded and has not changed is not graded again. At the end the table is sorted and
# replaces OUT in one step. Beside it are files with the name of OUT without .csv, followed by
#
#   -students.csv   a row for each student: the points, and their total
#   -exercises.csv  a row for each exercise: how many passed, and the commonest failure
#   -pairs.csv      answers that resemble each other
#   -feedback/      a text file for every student: the grader's messages
#
# Exit codes: 0 all graded, 1 the grader itself failed somewhere, 2 refused, 3 a tool of the grader is missing.
set -uo pipefail
. src/try/can_work.sh
export LC_ALL=C  # names are bytes

leave_out() { printf 'grade-class: %q: left out, it is %s\n' "$1" "$2" >&2; }

# Sets `name` and `id` from the text before an answer's name in an export; fails for other text.
read_prefix() {
  local moodle='^(.*)_([0-9]+)_assignsubmission_(file|onlinetext)_?$'
  local canvas='^(.+)_([0-9]+)_[0-9]+$' blackboard='^(.*_)?([^_]+)_attempt_[-0-9]+$'
  if [[ $1 =~ $moodle ]]; then
    name=${BASH_REMATCH[1]} id=${BASH_REMATCH[2]}
  elif [[ $1 =~ $blackboard ]]; then
    name=${BASH_REMATCH[2]} id=${BASH_REMATCH[2]}
  elif [[ $1 =~ $canvas ]]; then
    name=${BASH_REMATCH[1]} id=${BASH_REMATCH[2]}
    name=${name%_LATE}
  else
    return 1
  fi
  name=${name:-$id}
}

# Sets `exercise`, `attempt` and `kind` from a student's name for a file: 01-index-and-guard.cu, in Canvas
# with -2 for the second attempt, and also exercise1.cu, ex_01.cu, 1.cu or 01-index.cu, if no file has the
# exercise's own name.
name_exercise() {
  local stem=${1,,} each
  [[ $stem =~ ^(.*[^\ ])\.(cu|txt)$ ]] || return 1
  stem=${BASH_REMATCH[1]} kind=${BASH_REMATCH[2]}
  [[ ! $stem =~ ^(.*[^\ ])\ ?\([0-9]+\)$ ]] || stem=${BASH_REMATCH[1]} # by a browser
  for exercise in "${known[@]}"; do
    [[ $stem =~ ^"$exercise"(-([0-9]{1,4}))?$ ]] || continue
    attempt=$((10#${BASH_REMATCH[2]:-0}))
    return 0
  done
  [[ $stem =~ ^((exercise|ex|answer|task)[-_\ ]?)?0*([0-9]{1,2})([-_.\ ][^0-9].*)?$ ]] || return 1
  each=${BASH_REMATCH[3]} attempt=$like_it
  for exercise in "${known[@]}"; do [ $((10#${exercise%%-*})) != "$each" ] || return 0; done
  return 1
}

# Sets `exercise`, `attempt`, `kind` and `prefix` from the name of an exported file.
read_file_name() {
  local lower=${1,,} platform
  for platform in '_assignsubmission_(file|onlinetext)' '_attempt_()[-0-9]+' '_[0-9]+_()[0-9]+'; do
    [[ $lower =~ ^(.*$platform)_([^_].*\.(cu|txt))$ ]] || continue
    prefix=${1:0:${#BASH_REMATCH[1]}} kind=${BASH_REMATCH[4]}
    ! name_exercise "${BASH_REMATCH[3]}" || return 0
    [ ${#requested[@]} = 1 ] || return 1
    exercise=${requested[0]} attempt=$any_name
    [[ ! $lower =~ (-([0-9]{1,4}))( ?\([0-9]+\))?\. ]] || attempt=$((any_name + 10#${BASH_REMATCH[2]}))
    return 0
  done
  return 1
}

# Sets `found` to the files for exercises in a student's folder, three words each: exercise, attempt, file.
# Each file that is of no exercise is in `others`, with what it is.
look_into() {
  local base each alone=()
  found=() others=()
  for each in "$1"/*; do
    base=${each##*/}
    if name_exercise "$base" && [ "$kind" = "${kinds[$exercise]}" ]; then
      [ "$base" = "$exercise.$kind" ] || [ "$attempt" -lt 0 ] || attempt=-1
      found+=("$exercise" "$attempt" "$each")
    elif [ ${#requested[@]} = 1 ] && [[ ${base,,} == *."${kinds[${requested[0]}]}" ]]; then
      alone+=("$each")
    elif [[ $base != grades.csv ]] && ! { [ "$base" = answers ] && [ -d "$each" ]; }; then
      others+=("$each" "no answer to an exercise by its name")
    fi
  done
  if [ ${#alone[@]} = 1 ] && [[ " ${found[*]} " != *" ${requested[0]} "* ]]; then
    found+=("${requested[0]}" "$any_name" "${alone[0]}")
  else
    for each in "${alone[@]}"; do others+=("$each" "one of several files; name the one that counts ${requested[0]}.${each##*.}"); done
  fi
}

# What is handed in for an exercise: a kernel or formulas, as the exercise begins.
kind_of() {
  local begin=(exercises/"$1"/start.*)
  [ ${#begin[@]} = 0 ] && echo cu || echo "${begin[0]##*.}"
}

# The folders with a student's files, the first before the other.
folders_of() {
  inside=("$1")
  [ ! -d "$1/answers" ] || [ -L "$1/answers" ] || inside=("$1/answers" "$1")
}

# If two handed in one exercise under one name, they are two students, each with a number. (One
# student may have several numbers: a platform may give one for each exercise.)
note_student() {
  local entry=$1 name=$2 id=$3 each
  name_of[$entry]=$name id_of[$entry]=$id
  for each in $4; do
    [ "${id_for[$name/$each]:=$id}" = "$id" ] || is_several[$name]=1
  done
}

# A student's file, if it is a regular file. Links might lead out of the folder. Of numbered attempts the
# last counts; of other files for one exercise the one that has its name, or else the first.
offer() {
  local at=$1/$2 attempt=$3 file=$4 dropped=$4 before
  before=${attempt_of[$at]:-}
  if [ -L "$file" ]; then
    leave_out "$file" "a link"
  elif [ ! -f "$file" ]; then
    leave_out "$file" "no plain file"
  else
    if [ -z "$before" ] || [ "$attempt" -gt "$before" ]; then
      dropped=${file_of[$at]:-}
      file_of[$at]=$file attempt_of[$at]=$attempt
    fi
    [ -z "$dropped" ] || { [ "$attempt" -ge 0 ] && [ "$before" -ge 0 ] && [ "$attempt" != "$before" ]; } ||
      leave_out "$dropped" "a second file of that student's; name the one that counts $2.${kinds[$2]}"
  fi
}

# handed_in DIR EXERCISE...: finds each student's answer to each exercise in DIR, which has one folder
# per student, or is the export of a learning platform:
#
#   STUDENT/NN-name.cu, STUDENT/answers/NN-name.cu       .txt for formulas
#   NAME_ID_assignsubmission_file_/NN-name.cu            Moodle, with folders
#   NAME_ID_assignsubmission_file_NN-name.cu             and without
#   name_ID_ID_NN-name.cu, name_LATE_ID_ID_NN-name-2.cu  Canvas: the highest attempt counts
#   GRADEBOOK_login_attempt_DATE_NN-name.cu              Blackboard
#
# The case of a file's name makes no difference, nor does the " (2)" of a browser. A name that has only the
# exercise's number counts, too: name_exercise above. If only one exercise is requested, a student's only file
# of its kind counts, whatever its name.
#
# Prints five texts, each followed by a zero byte, for every student and exercise: the student's name in
# the table, the exercise, the file, the record of hint levels beside it, and the student's name without
# the number that distinguishes equal names. The file is empty if nothing was handed in. Each file that is
# left out gets a line on stderr. No file is opened here.
handed_in() (
  shopt -s nullglob
  dir=$1
  shift
  declare -A name_of id_of id_for is_several file_of attempt_of record_of name_for
  students=() entries=()
  # Unicode's line breaks, and characters that change the direction of writing.
  turns=$'\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]'
  # Less than every attempt: a file with the exercise's name comes before all others.
  like_it=-10000 any_name=-20000
  known=() requested=("$@")
  for folder in exercises/[0-9]*; do known+=("${folder#exercises/}"); done
  declare -A kinds
  for exercise in "${known[@]}"; do kinds[$exercise]=$(kind_of "$exercise"); done

  # Who there is, and in files, five words each: the entry, the exercise, the attempt, the file, and why
  # it is left out.
  files=()
  for entry in "$dir"/*; do
    base=${entry##*/} holds=
    if [ -d "$entry" ]; then
      # Files that this program wrote.
      [[ $base == *-feedback && -e $entry/.grade-class ]] && continue
      if [ -L "$entry" ]; then
        leave_out "$entry" "a link"
        continue
      fi
      read_prefix "$base" && [[ $base == *_assignsubmission_* ]] || { name=$base id=-; }
      folders_of "$entry"
      record_of[$entry]=$inside/grades.csv
      for folder in "${inside[@]}"; do
        look_into "$folder"
        for ((i = 0; i < ${#found[@]}; i += 3)); do
          files+=("$entry" "${found[@]:i:3}" "") holds+="${found[i]} "
        done
        for ((i = 0; i < ${#others[@]}; i += 2)); do files+=("$entry" "" "" "${others[@]:i:2}"); done
      done
    else
      case $base in *.csv | *.csv.partial | *.csv.new) [[ $base == *_grades.csv ]] || continue ;; esac
      if read_file_name "$base"; then
        holds=$exercise why=
        [ "$kind" = "${kinds[$exercise]}" ] || why="a .$kind, and exercise $exercise wants a .${kinds[$exercise]}"
        files+=("$entry" "$exercise" "$attempt" "$entry" "$why")
      elif [[ $base == *_grades.csv ]]; then
        prefix=${base%_grades.csv} record_of[$entry]=$entry
      else
        leave_out "$entry" "no answer to an exercise by its name"
        continue
      fi
      read_prefix "$prefix" || { leave_out "$entry" "of no student by its name"; continue; }
    fi
    if [[ $name =~ [[:cntrl:]] || $name =~ $turns ]]; then
      leave_out "$entry" "a name with a line break or another control character; rename it"
    elif [[ $name == [=+@-]* ]]; then
      leave_out "$entry" "a name that a spreadsheet takes for a formula; rename it"
    else
      note_student "$entry" "$name" "$id" "$holds"
      entries+=("$entry")
    fi
  done

  declare -A student_of record_for
  for entry in "${entries[@]}"; do
    student=${name_of[$entry]}
    [ -z "${is_several[$student]:-}" ] || [ "${id_of[$entry]}" = - ] || student+=_${id_of[$entry]}
    student_of[$entry]=$student
    [ -n "${name_for[$student]:-}" ] || students+=("$student")
    name_for[$student]=${name_of[$entry]}
    record_for[$student]=${record_of[$entry]:-${record_for[$student]:-}}
  done

  # The files that were handed in.
  for ((i = 0; i < ${#files[@]}; i += 5)); do
    student=${student_of[${files[i]}]:-} exercise=${files[i + 1]}
    [ -n "$student" ] && [[ -z $exercise || " ${requested[*]} " == *" $exercise "* ]] || continue
    if [ -n "${files[i + 4]}" ]; then
      leave_out "${files[@]:i + 3:2}"
    else
      offer "$student" "${files[@]:i + 1:3}"
    fi
  done

  for student in "${students[@]}"; do
    for exercise in "${requested[@]}"; do
      printf '%s\0' "$student" "$exercise" "${file_of[$student/$exercise]:-}" \
        "${record_for[$student]}" "${name_for[$student]}"
    done
  done
)

# An unchanged start file is not an answer, and neither is an empty file.
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

# A student's answer runs under these limits. Limits that the system does not support are left out.
grade() (
  ulimit -c 0
  ulimit -v $((MEMORY_GB << 20))
  ulimit -f $((512 << 10))
  # The soft limit ends the process in a way that can be recognized.
  ulimit -St "$ANSWER_S"
  ulimit -Ht $((ANSWER_S + 5))
  ulimit -n 256
  # For all processes of this user, with room for compilers and OpenMP's threads.
  [ -z "$MOST_PROCESSES" ] || ulimit -u "$MOST_PROCESSES"
  exec env -i PATH="$PATH" LC_ALL=C HOME="$work" TMPDIR="$work" BUILD="$BUILD" WORK="$work" \
    SEED="$SEED" STUDENT="$name" LIMIT="${LIMIT:-}" HINT="$HINT" FACTS="$work/facts" \
    COMPILE_S="${COMPILE_S:-}" COMPILE_GB="${COMPILE_GB:-}" OMP_NUM_THREADS=2 \
    timeout -k 5 "$WAIT_S" src/school/grade/grade.sh "$exercise" "$answer"
)

# grade_class.sh STUDENT EXERCISE FILE HINT_LEVEL DIGEST NAME: grades one answer of a class under limits,
# in the environment that is set below. Writes the grader's messages to PIECES/STUDENT/EXERCISE, what they
# complain about beside it, and then appends one row to PARTIAL in one write. An instance is drawn by NAME
# if the answer has no name.
grade_one() {
  local student=$1 exercise=$2 file=$3 hint=$4 digest=$5 name=$6
  local work answer output= code verdict right=– hazard_free=– target=– drawn_by= drawn_for= symptom= fact score=0 kept piece
  work=$(mktemp -d "$TEMPORARY/answer.XXXXXX") || exit 1
  answer=${file##*.} answer=$work/$exercise.${answer,,}
  if [ "$digest" = "more than 1 MB" ]; then
    code=2 output="the file has more than 1 MB, so it is no answer"
  else
    head -c 1000001 -- "$file" > "$answer" || exit 1
    if is_written; then
      grade > "$work/output" 2>&1 < /dev/null
      code=$?
      [ -d "$work" ] || exit 1 # interrupted: that is not a verdict
      # Removes control sequences of a terminal, and paths of this machine.
      output=$(tr -d '\000-\010\013-\037\177' < "$work/output")
      output=${output//"$work/"/}
      # This is about the system; grade_class.sh reports it once.
      case $output in *"grants no filter of system calls"*)
        grep -h 'grants no filter of system calls' <<< "$output" > "$TEMPORARY/unlocked"
        output=$(grep -v 'grants no filter of system calls' <<< "$output") ;;
      esac
    else
      code=empty output="nothing is written yet between the marked lines, or behind the colons"
    fi
  fi
  case $code in
    0) verdict=passed ;;
    1) verdict=failed ;;
    2) verdict=refused ;;
    4) verdict="timed out" ;;
    5) verdict="did not compile" ;;
    6 | 152) verdict="too much CPU time" ;;
    124 | 137)
      verdict="took too long"
      output="compiling and running it was not done after $WAIT_S s, in which it mostly waited" ;;
    empty) verdict="nothing written yet" ;;
    *) verdict="grader error" ;;
  esac
  if [ -s "$work/facts" ]; then
    for fact in right hazard_free target drawn_by drawn_for symptom; do IFS= read -r "$fact"; done < "$work/facts"
  fi
  # Formulas describe a kernel that is not the student's.
  if [ "${answer##*.}" = txt ]; then
    right= hazard_free=
  fi
  # A point for a right result, and then one for each further goal that it meets.
  for kept in "$right" "$hazard_free" "$target"; do [ "$kept" != yes ] || score=$((score + 1)); done
  [ "$right" = yes ] || score=0
  [ "$verdict" != passed ] || score=3
  # It may still be the student's: a nickname or a login.
  if [ "$drawn_by" = another ]; then
    verdict="another name" score=–
    output+=$'\n\n'"Whether $drawn_for is the name of $student is for the lecturer to say, and so are the points."
  fi
  if [ "$verdict" = "grader error" ]; then
    score=–
    tail -n 5 <<< "$output" >&2
  fi

  piece=$PIECES/$student/$exercise
  mkdir -p "$PIECES/$student" && printf '%s\t%s\n' "$exercise" "${symptom:-$verdict}" > "$piece.symptom" && {
    printf '%s: %s, %s of 3 points\n' "$exercise" "$verdict" "$score"
    sed 's/^./  &/' <<< "$output"
  } > "$piece.new" && mv "$piece.new" "$piece" || exit 1
  rm -rf "$work"
  printf '"%s",%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n' "${student//\"/\"\"}" "$exercise" "$verdict" "$score" \
    "${right:-–}" "${hazard_free:-–}" "${target:-–}" "${drawn_for:-–}" "$hint" "$SEED" "$digest" >> "$PARTIAL"
  printf '%-24s %-20s %s\n' "$exercise" "$verdict" "$student" # last: a name may have letters of any width
}
if [ $# -gt 0 ]; then
  grade_one "$@"
  exit
fi

can_work grade-class || exit
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
totals=${OUT%.csv}-students.csv failures=${OUT%.csv}-exercises.csv
for file in "$OUT" "$pairs" "$totals" "$failures"; do
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
  for requested in ${EX:-"$name"}; do
    case $requested in "$name" | "${name#*-}" | "$number" | "${number#0}") exercises+=("$name") ;; esac
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
# A grading that is still running when this ends finds its folder renamed, and writes no row.
trap 'mv "$temporary" "$temporary.over"; rm -rf "$temporary.over"' EXIT
trap 'exit 130' INT TERM

csv() { local text=${1//\"/\"\"}; printf '"%s"' "$text"; }

# The highest hint level in a record that was handed in; nothing if there is none. A student may
# have changed the record.
hint_level() {
  [ -f "$1" ] && [ ! -L "$1" ] && [ "$(stat -c %s "$1")" -le 1000000 ] || return 0
  awk -F , -v exercise="$2" '
    $2 == exercise && $4 ~ /^[0-2]$/ { if (!any || $4 > most) most = $4; any = 1 }
    END { if (any) print most }' "$1"
}

WAIT_S=$((ANSWER_S > 60 ? 10 * ANSWER_S : 600))
most_processes=$(ps -L --no-headers -u "$(id -u)" 2> /dev/null | wc -l)
most_processes=$([ "$most_processes" = 0 ] || echo $((most_processes + 200 * JOBS + 1000)))
export BUILD SEED LIMIT HINT MEMORY_GB ANSWER_S WAIT_S COMPILE_S COMPILE_GB
export TEMPORARY=$temporary PARTIAL=$partial PIECES=$pieces MOST_PROCESSES=$most_processes

# The student, exercise and digest of every row, as written in it.
about_rows() {
  sed -E '1d; s/(,[^,]*){8}(,[^,]*)$/\2/' "$1"
}
declare -A graded
while IFS= read -r row; do
  graded[$row]=1
done < <(about_rows "$partial")

handed_in "$DIR" "${exercises[@]}" > "$temporary/handed_in" 2> "$temporary/left_out"
cat "$temporary/left_out" >&2
left_out=$(wc -l < "$temporary/left_out")
declare -A given
work=() answers=() students=() last=
: > "$temporary/absent" > "$temporary/wanted" > "$temporary/symptoms" > "$temporary/summary"
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
    case ${file,,} in *.cu) answers+=("$exercise" "$student" "$file") ;; esac
  fi
  given[$student/$exercise]=1
  about=$(csv "$student"),$exercise,$digest
  printf '%s\n' "$about" >> "$temporary/wanted"
  [ -n "${graded[$about]:-}" ] ||
    work+=("$student" "$exercise" "$file" "$(hint_level "$record" "$exercise")" "$digest" "$name")
done < "$temporary/handed_in"
[ ${#students[@]} -gt 0 ] ||
  refuse "DIR=$DIR: holds no folder or file of a student; see exercises/TEACHING.md"
mkdir -p "$pieces" && : > "$pieces/.grade-class" || refuse "OUT=$OUT: cannot be written"

if [ ${#work[@]} -gt 0 ]; then
  printf '%s\0' "${work[@]}" | xargs -0 -n 6 -P "$JOBS" src/school/grade/grade_class.sh 9<&- ||
    { echo "grade-class: not all were graded; the same command goes on" >&2; exit 1; }
fi

# Rows of files that were changed or removed since the run began are left out.
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

# A text file for each student, in a folder that replaces the previous one.
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
        cat -- "$pieces/$student/$exercise.symptom" >> "$temporary/symptoms"
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

# The points by student: the table without its header is sorted by student, so each has its rows together.
{
  printf '%s,' student "${exercises[@]}"
  echo total
  sed -E '1d; s/^("([^"]|"")*"),([^,]*),[^,]*,([^,]*),.*/\1\t\3\t\4/' "$table" | awk -F '\t' '
    function row() { if (student != "") print student points "," total }
    $1 != student { row(); student = $1; points = ""; total = 0 }
    { points = points "," $3; total += $3 }
    END { row() }'
} > "$totals.new" && mv "$totals.new" "$totals" || refuse "$totals: cannot be written"

# The symptom of an answer that failed, or else the verdict. Those that differ only in a number are one.
# The summary is what a session opens with.
awk -F '\t' -v exercises="${exercises[*]}" -v summary="$temporary/summary" '
  { ++handed_in[$1] }
  $2 == "passed" { ++passed[$1]; next }
  {
    kind = $2
    gsub(/[0-9][0-9.,]*/, "0", kind)
    if (!(($1, kind) in words)) words[$1, kind] = $2
    if (++times[$1, kind] > times[$1, most[$1]]) most[$1] = kind
  }
  END {
    print "exercise,handed_in,passed,commonest_failure,students"
    n = split(exercises, name, " ")
    for (i = 1; i <= n; ++i) {
      e = name[i]
      failure = words[e, most[e]]
      if (handed_in[e]) {
        printf "%-24s %d of %d passed%s\n", e, passed[e], handed_in[e],
          failure == "" ? "" : "; commonest failure (" times[e, most[e]] "): " failure > summary
      }
      gsub(/"/, "\"\"", failure)
      printf "%s,%d,%d,\"%s\",%d\n", e, handed_in[e], passed[e], failure, times[e, most[e]]
    }
  }' "$temporary/symptoms" > "$failures.new" && mv "$failures.new" "$failures" || refuse "$failures: cannot be written"
mv "$table" "$OUT" && rm -rf "$partial" "$pieces" || refuse "OUT=$OUT: cannot be written"

count() { [ "$1" = 1 ] && echo "1 $2" || echo "$1 $2s"; }
cat "$temporary/summary"
echo "$(count ${#students[@]} student), $(count ${#exercises[@]} exercise): $OUT"
echo "points and total for each student: $totals"
echo "passed, and the commonest failure, for each exercise: $failures"
echo "feedback for each student: $feedback"
echo "$(count $(($(wc -l < "$pairs") - 1)) pair) of answers that resemble each other: $pairs"
others=$(grep -c '^".*,another name,' "$OUT")
[ "$others" = 0 ] || echo "answers that say another name than the student's: $others (drawn_for in the table)"
[ "$left_out" = 0 ] || echo "$left_out left out, see above"
[ ! -e "$temporary/unlocked" ] || head -n 1 "$temporary/unlocked" >&2
! grep -q ',grader error,' "$OUT"
