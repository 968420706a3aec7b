#!/bin/bash
# check_format.sh: names every C++ and CUDA file that clang-format 14 (Debian 12) would format
# differently. Other versions differ in details, so they are not used.
set -u
version=$(clang-format --version 2> /dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [ "$version" != 14 ]; then
  echo "the format is not checked: this needs clang-format 14, but the version found is ${version:-none}"
  exit 0
fi
wrong=0
while IFS= read -r -d '' file; do
  clang-format "$file" | cmp -s - "$file" || {
    echo "$file is not formatted as .clang-format says; run make format"
    wrong=1
  }
done < <(git ls-files -z '*.h' '*.cpp' '*.cu')
exit $wrong
