#!/bin/bash
# limited.sh FILE COMMAND...: runs a compiler, an assembler or a linker on a user's FILE, which may
# need any time and memory to compile (an endless constant expression, for example). Exits like
# COMMAND, or with 124 and a sentence on stderr if COMMAND needs more than
#
#   COMPILE_S   seconds of processor time, each process (60)
#   WAIT_S      seconds by the clock, for what waits (ten times as many, at least 600)
#   COMPILE_GB  GB of memory, each process (4)
#
# or writes more than 256 MB to a file. Temporary files go to a folder that is removed.
#
# A script that has such a folder, $work, may source this and call: limited FILE COMMAND...
limited() {
  local file=$1 seconds=${COMPILE_S:-60} gigabytes=${COMPILE_GB:-4} megabytes=256
  local begun=$SECONDS messages=$work/messages.$BASHPID setting waiting running code why=
  shift
  for setting in "COMPILE_S=$seconds" "COMPILE_GB=$gigabytes"; do
    [[ $setting =~ =[1-9][0-9]{0,3}$ ]] ||
      { echo "$setting: give a whole number from 1 to 9999, for example COMPILE_S=60" >&2; return 2; }
  done
  waiting=${WAIT_S:-$((seconds > 60 ? 10 * seconds : 600))}
  (
    # A lower limit that is already set stays.
    ulimit -c 0
    # SIGXCPU at the soft limit says what was exceeded. At the hard limit it would be SIGKILL.
    ulimit -Ht $((seconds + 1))
    ulimit -St "$seconds"
    ulimit -v $((gigabytes << 20))
    ulimit -f $((megabytes << 10))
    exec 2> "$messages"
    TMPDIR=$work LC_ALL=C exec timeout -k 5 "$waiting" "$@"
  ) 2> /dev/null &
  running=$!
  # A signal to this script alone is passed on to everything that it has started.
  trap '[ -z "${running:-}" ] || kill "$running" 2> /dev/null; exit 130' INT TERM HUP
  wait "$running" 2> /dev/null  # bash's own message about a signal; ours follows
  code=$?
  # (Not in a line of the file that the compiler quotes: "   12 | throw std::bad_alloc();".)
  contains() { grep -vE '^ *[0-9]* \|' "$messages" | grep -qiE "$1"; }
  if [ $code -ne 0 ]; then
    # (The system also kills a process that uses up its memory.)
    if [ $code = 124 ] || { [ $code = 137 ] && [ $((SECONDS - begun)) -ge "$waiting" ]; }; then
      why="has not been compiled after $waiting s, in which the compiler mostly waited; try again, or COMPILE_S= allows more"
    elif [ $code = 152 ] || contains 'CPU time limit exceeded'; then
      why="took too long to compile: more than $seconds s of processor time; COMPILE_S= allows more"
    elif [ $code = 153 ] || contains 'File size limit exceeded|File too large'; then
      why="is too large after compilation: a file of more than $megabytes MB"
    elif [ $code = 137 ] || contains 'Killed signal|out of memory|memory exhausted|Cannot allocate memory|bad_alloc'; then
      why="needs more memory to compile than $gigabytes GB; COMPILE_GB= allows more"
    fi
  fi
  if [ -n "$why" ]; then
    echo "$file: $why" >&2
    return 124
  fi
  [ ! -s "$messages" ] || head -c 1000000 "$messages" >&2
  return $code
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
set -u
work=$(mktemp -d 2> /dev/null) || { echo "TMPDIR=${TMPDIR:-}: no temporary file can be made there" >&2; exit 2; }
trap 'rm -rf "$work"' EXIT
limited "$@"
