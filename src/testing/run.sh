#!/bin/bash
# run.sh TESTS [DOCTEST_FLAGS...]: runs doctest's test cases on all cores, a few at a time, and ends
# with one line of totals in doctest's format. With flags, it runs doctest once with these flags.
# GEMM_STEPS_TEST_BUT in the environment names source files whose tests are left out, as doctest's
# -sfe does.
set -uof pipefail
tests=$1
shift
export COLUMNS=100 # reports are as wide as here on every terminal
[ $# = 0 ] || exec "$tests" "$@"

but=${GEMM_STEPS_TEST_BUT:+-sfe=$GEMM_STEPS_TEST_BUT}
count=$("$tests" --count $but | sed -n 's/.*: *//p')
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
export OMP_WAIT_POLICY=passive # threads that wait leave the cores to the others
chunk=4
# The output of each chunk is kept together.
seq 1 $chunk "$count" | xargs -P "$(nproc)" -I{} bash -c '
  said=$("$1" --first="$2" --last="$(($2 + $3 - 1))" --no-intro ${4:-} 2>&1)
  code=$?
  [ $code -gt 1 ] && said+=$'"'\n'"'"$1 --first=$2: ended with $code"
  printf "%s\n" "$said"
  [ $code = 0 ]' run "$tests" {} $chunk $but > "$log"
status=$?
grep -vE '^(\[doctest\] (test cases|assertions|Status)|=+$|$)' "$log"
awk -v status=$status -v all="$count" '
  /^\[doctest\] test cases:/ { gsub(/[|]/, " "); failed += $7 }
  END {
    if (status != 0 && failed == 0) failed = 1 # a test ended its process
    printf "[doctest] test cases: %d | %d passed | %d failed\n", all, all - failed, failed
    exit failed > 0
  }' "$log"
