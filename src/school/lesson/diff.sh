#!/usr/bin/env bash
# Prints one whole kernel with the lines in which another differs: src/school/lesson/diff.sh naive
# coalesced
set -euo pipefail
cd "$(dirname "$0")/../../.."
if [ $# != 2 ]; then
  echo "usage: src/school/lesson/diff.sh KERNEL KERNEL, for example naive coalesced" >&2
  exit 2
fi

# From its first line, below the comment, to its closing brace.
text() {
  local file first last
  for file in cpu_reference.cpp gemm_steps.cu; do
    read -r first last < <(awk -f src/text/declarations.awk $file |
      awk -v name="$1" '$1 != "stage" && $7 == name { print $4, $6; exit }') || continue
    sed -n "${first},${last}p" $file
    return
  done
  echo "there is no kernel $1" >&2
  return 2
}
from=$(text "$1")
to=$(text "$2")
diff --minimal -U 1000 --label "$1" --label "$2" <(echo "$from") <(echo "$to") || [ $? = 1 ]
