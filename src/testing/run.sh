#!/bin/bash
# run.sh TESTS [DOCTEST_FLAGS...]: runs doctest's test cases on all cores, a few at a time, says how many
# have run, and ends with one line of totals in doctest's format, where a test case that says "skipped: "
# is skipped. With flags, it runs doctest once with these flags.
# GEMM_STEPS_TEST_BUT in the environment names source files whose tests are left out, as doctest's
# -sfe does.
set -uof pipefail
tests=$1
shift
export COLUMNS=100 # reports are as wide as here on every terminal
[ $# = 0 ] || exec "$tests" "$@"

but=${GEMM_STEPS_TEST_BUT:-}
count() { "$tests" --count "$@" | sed -n 's/.*: *//p'; }
export log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
export OMP_WAIT_POLICY=passive # threads that wait leave the cores to the others
# Files whose test cases share a page, a browser, a book or a run, or which mostly wait: each is one
# process, and the first.
together=('*/show/page/*' '*/book_tests.cpp' '*/lesson/lesson_tests.cpp' '*/guard/*')
apart=$(IFS=,; echo "${together[*]}")${but:+,$but}
all=$(count "-sfe=$but")
chunk=4
# A line is a process: how many test cases it runs, and its filters. The output of each is kept
# together. One that does not end is ended, and doctest names its test case.
{
  for file in "${together[@]}"; do
    echo "$(count "-sf=$file" "-sfe=$but") -sf=$file -sfe=$but"
  done
  others=$(count "-sfe=$apart")
  # The last ones, of the whole program, take longest: they start first, so that all cores work until the end.
  for ((last = others; last > 0; last -= chunk)); do
    first=$((last > chunk ? last - chunk + 1 : 1))
    echo "$((last - first + 1)) --first=$first --last=$last -sfe=$apart"
  done
} | xargs -P "$(nproc)" -I{} bash -c '
  read -ra cases <<< "$2"
  output=$(timeout -k 10 1200 "$1" "${cases[@]:1}" --no-intro 2>&1)
  code=$?
  [ $code -gt 1 ] && output+=$'"'\n'"'"$1 $2: ended with $code"
  printf "%s\n" "$output" >> "$log"
  echo "${cases[0]} $(sed -n "s/^\[doctest\] test cases:.* \([0-9]*\) failed.*/\1/p" <<< "$output")"
  [ $code = 0 ]' run "$tests" {} | {
  ran=0 failed=0 hundreds=0
  while read -r cases fails; do
    ((ran += cases, failed += fails))
    if [ -t 1 ]; then
      printf '\r%d of %d test cases, %d failed' $ran "$all" $failed
    elif ((ran / 100 > hundreds)); then
      hundreds=$((ran / 100))
      echo "$ran of $all test cases, $failed failed"
    fi
  done
  [ ! -t 1 ] || echo
}
status=${PIPESTATUS[1]}
grep -vE '^(\[doctest\] (test cases|assertions|Status)|=+$|$)' "$log"
awk -v status=$status -v all="$all" '
  /^\[doctest\] test cases:/ { gsub(/[|]/, " "); failed += $7 }
  /^skipped: |MESSAGE: skipped: / { ++skipped }
  END {
    if (status != 0 && failed == 0) failed = 1 # a test ended its process
    printf "[doctest] test cases: %d | %d passed | %d failed | %d skipped\n", all,
        all - failed - skipped, failed, skipped
    exit failed > 0
  }' "$log"
