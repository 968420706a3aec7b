#!/bin/sh
# Prints the kernels that changes.txt makes of those in gemm_steps.cu, as C++:
#   src/lab/experiments/changed_kernels.sh
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A file for each kernel, from "template" to the brace that closes it, named for the kernel.
awk '
  /^template </ { is_open = 1; text = name = "" }
  is_open { text = text $0 "\n" }
  is_open && name == "" && match($0, /[a-z_0-9]+\($/) { name = substr($0, RSTART, RLENGTH - 1) }
  is_open && /^}$/ {
    if (name != "") { printf "%s", text > name ".cu"; close(name ".cu") }
    is_open = 0
  }' "$root/gemm_steps.cu"

awk -v into=. -f "$root/src/text/edits.awk" "$root/src/lab/experiments/changes.txt" >list
while IFS="$(printf '\t')" read -r name file words kernel; do
  sed "s/ ${kernel%.cu}(/ $name(/" "$file"
  echo
done <list
