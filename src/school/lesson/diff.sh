#!/usr/bin/env bash
# Prints one whole kernel with the lines in which another differs: src/school/lesson/diff.sh naive
# coalesced
set -euo pipefail
cd "$(dirname "$0")/../../.."
if [ $# != 2 ]; then
  echo "usage: src/school/lesson/diff.sh KERNEL KERNEL, for example naive coalesced" >&2
  exit 2
fi

# From the line after the comment to the closing brace in the first column.
text() {
  awk -v name="$1" '
    /^\/\// || /^$/ { head = "" }
    !/^\/\// && !found { head = head $0 "\n" }
    !found && $0 ~ "(^|[^A-Za-z0-9_])" name "\\((int M|$)" { found = 1; printf "%s", head; next }
    found { print }
    found && /^}/ { exit }
    END { if (!found) { print "there is no kernel " name > "/dev/stderr"; exit 2 } }
  ' cpu_reference.cpp gemm_steps.cu
}
from=$(text "$1")
to=$(text "$2")
diff -U 1000 --label "$1" --label "$2" <(echo "$from") <(echo "$to") || [ $? = 1 ]
