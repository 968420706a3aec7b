#!/bin/bash
# handed_in.sh DIR EXERCISE...: which file in DIR is whose answer to which exercise. DIR holds folders,
# one for each student, or what a learning platform exports:
#
#   STUDENT/NN-name.cu, STUDENT/answers/NN-name.cu       .txt where formulas are asked for
#   NAME_ID_assignsubmission_file_/NN-name.cu            Moodle, with folders
#   NAME_ID_assignsubmission_file_NN-name.cu             and without
#   name_ID_ID_NN-name.cu, name_LATE_ID_ID_NN-name-2.cu  Canvas: the highest attempt counts
#   GRADEBOOK_login_attempt_DATE_NN-name.cu              Blackboard
#
# The case of a file's name makes no difference, nor does the " (2)" of a browser. Where one exercise
# alone is asked for, a student's only file of its kind counts, whatever its name.
#
# Prints five texts, each with a zero byte behind it, for every student and exercise: what the student is
# called in the table, the exercise, the file, the record of hint levels beside it, and the student's name
# without the number that tells two of one name apart. The file is empty where nothing was handed in.
# What is left out is said on stderr, a line each. No file is opened here.
set -uo pipefail
export LC_ALL=C # names are bytes
shopt -s nullglob
dir=$1
shift
declare -A name_of id_of id_for is_several file_of attempt_of record_of name_for
students=()
# Unicode's line breaks, and characters that change the direction of writing.
turns=$'\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]'
any_name=-10000 # less than every attempt: a file's own name goes before any other

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

# Sets `exercise`, `attempt`, `kind` and `prefix` from the name of an exported file.
read_file_name() {
  local rest='(-([0-9]{1,4}))?( ?\([0-9]+\))?\.(cu|txt)$' lower=${1,,} platform
  for exercise in "${known[@]}"; do
    [[ $lower =~ ^(.*)_"$exercise"$rest ]] || continue
    prefix=${1:0:${#BASH_REMATCH[1]}} attempt=$((10#${BASH_REMATCH[3]:-0})) kind=${BASH_REMATCH[5]}
    return 0
  done
  [ ${#asked[@]} = 1 ] || return 1
  exercise=${asked[0]}
  for platform in '_assignsubmission_(file|onlinetext)' '_attempt_()[-0-9]+' '_[0-9]+_()[0-9]+'; do
    [[ $lower =~ ^(.*$platform)_[^_].*\.(cu|txt)$ ]] || continue
    prefix=${1:0:${#BASH_REMATCH[1]}} kind=${BASH_REMATCH[3]} attempt=$any_name
    [[ ! $lower =~ $rest ]] || attempt=$((any_name + 10#${BASH_REMATCH[2]:-0}))
    return 0
  done
  return 1
}

# Whether a file in a student's folder has the name of exercise $2.
is_called() {
  local base=${1##*/}
  [[ ${base,,} =~ ^"$2"( ?\([0-9]+\))?\."${kinds[$2]}"$ ]]
}

# Sets `file` to what a student's folder $1 holds for exercise $2, and `others` to the files of its kind
# where that cannot be told.
look_into() {
  local kind=${kinds[$2]} each exercise
  file=$1/$2.$kind others=()
  [ ! -e "$file" ] && [ ! -L "$file" ] || return 0
  for each in "$1"/*; do
    if is_called "$each" "$2"; then
      file=$each others=()
      return 0
    fi
    [[ ${each,,} == *."$kind" ]] || continue
    for exercise in "${known[@]}"; do is_called "$each" "$exercise" && continue 2; done
    others+=("$each")
  done
  if [ ${#asked[@]} = 1 ] && [ ${#others[@]} = 1 ]; then file=${others[0]} others=(); fi
}

# What is handed in for an exercise: a kernel or formulas, as the exercise begins.
kind_of() {
  local begin=(exercises/"$1"/start.*)
  [ ${#begin[@]} = 0 ] && echo cu || echo "${begin[0]##*.}"
}

# The exercises that a student's folder holds something for.
held_by() {
  local each inside
  for each in "${known[@]}"; do
    for inside in "$1" "$1/answers"; do
      look_into "$inside" "$each"
      [ ! -e "$file" ] || echo "$each"
    done
  done
}

# Two who handed in for one exercise under one name are two students, each with a number. (One student
# may have several numbers: a platform may give one for each exercise.)
note_student() {
  local entry=$1 name=$2 id=$3 each
  name_of[$entry]=$name id_of[$entry]=$id
  for each in $4; do
    [ "${id_for[$name/$each]:=$id}" = "$id" ] || is_several[$name]=1
  done
}

# A file of a student's, if it is a plain one. Links might lead out of the folder.
offer() {
  local at=$1/$2 file=$3 attempt=$4
  if [ -L "$file" ]; then
    leave_out "$file" "a link"
  elif [ -e "$file" ] && [ ! -f "$file" ]; then
    leave_out "$file" "no plain file"
  elif [ -f "$file" ] && [ "$attempt" -lt 0 ] && [ "$attempt" = "${attempt_of[$at]:-}" ]; then
    leave_out "$file" "a second file of that student's; name the one that counts $2.${kinds[$2]}"
  elif [ -f "$file" ] && [ "$attempt" -ge "${attempt_of[$at]:-$any_name}" ]; then
    file_of[$at]=$file attempt_of[$at]=$attempt
  fi
}

known=() asked=("$@")
for folder in exercises/[0-9]*; do known+=("${folder#exercises/}"); done
declare -A kinds
for exercise in "${known[@]}"; do kinds[$exercise]=$(kind_of "$exercise"); done

# Who there is.
for entry in "$dir"/*; do
  base=${entry##*/}
  if [ -d "$entry" ]; then
    # What was written by this program.
    [[ $base == *-feedback && -e $entry/.grade-class ]] && continue
    if [ -L "$entry" ]; then
      leave_out "$entry" "a link"
      continue
    fi
    read_prefix "$base" && [[ $base == *_assignsubmission_* ]] || { name=$base id=-; }
    holds=$(held_by "$entry")
  else
    case $base in *.csv | *.csv.partial | *.csv.new) [[ $base == *_grades.csv ]] || continue ;; esac
    holds=
    if read_file_name "$base"; then
      holds=$exercise
    elif [[ $base == *_grades.csv ]]; then
      prefix=${base%_grades.csv}
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
  fi
done

# What they have handed in.
declare -A seen
for entry in "$dir"/*; do
  [ -n "${name_of[$entry]:-}" ] || continue
  student=${name_of[$entry]}
  [ -z "${is_several[$student]:-}" ] || [ "${id_of[$entry]}" = - ] || student+=_${id_of[$entry]}
  if [ -z "${seen[$student]:-}" ]; then
    seen[$student]=1
    students+=("$student")
    name_for[$student]=${name_of[$entry]}
  fi
  base=${entry##*/}
  if [ -d "$entry" ]; then
    inside=$entry
    [ ! -d "$entry/answers" ] || [ -L "$entry/answers" ] || inside=$entry/answers
    for exercise in "${asked[@]}"; do
      look_into "$inside" "$exercise"
      offer "$student" "$exercise" "$file" 0
      [ ${#asked[@]} != 1 ] || [ ${#others[@]} = 0 ] ||
        leave_out "$inside" "a folder of several files; name the one that counts ${file##*/}"
    done
    record_of[$student]=$inside/grades.csv
  elif [[ $base == *_grades.csv ]]; then
    record_of[$student]=$entry
  elif read_file_name "$base"; then
    [[ " ${asked[*]} " == *" $exercise "* ]] || continue
    if [ "$kind" = "${kinds[$exercise]}" ]; then
      offer "$student" "$exercise" "$entry" "$attempt"
    else
      leave_out "$entry" "a .$kind, and exercise $exercise wants a .${kinds[$exercise]}"
    fi
  fi
done

for student in "${students[@]}"; do
  for exercise in "${asked[@]}"; do
    printf '%s\0' "$student" "$exercise" "${file_of[$student/$exercise]:-}" \
      "${record_of[$student]:-}" "${name_for[$student]}"
  done
done
