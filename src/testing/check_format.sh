#!/bin/bash
# check_format.sh: names every C++ and CUDA file that clang-format 14 (Debian 12) would format
# differently, with the first such line. Other versions differ in details, so they are not used.
set -uo pipefail
version=$(clang-format --version 2> /dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [ "$version" != 14 ]; then
  echo "the format is not checked: this needs clang-format 14, but the version found is ${version:-none}"
  exit 0
fi
git ls-files -z '*.h' '*.cpp' '*.cu' |
  xargs -0 -n 50 -P "$(nproc)" clang-format --dry-run --Werror --ferror-limit=1 || {
  echo "these files are not formatted as .clang-format says; run make format"
  exit 1
}
