#!/bin/bash
# Prints gemm_steps.cu up to its table, and the kernels that changes.txt makes of those in it:
#   src/experiments/changed_kernels.sh FILE   (that its output becomes)
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A file for each kernel, named for it.
awk -f "$root/src/text/declarations.awk" "$root/gemm_steps.cu" |
  while read -r kind _ _ first _ last name; do
    [ "$kind" != kernel ] || sed -n "$first,${last}p" "$root/gemm_steps.cu" >"$name.cu"
  done

echo '#line 1 "gemm_steps.cu"' >unchanged
sed '/^const std::vector<Variant> /,$d; /^#ifndef KERNELS_ALONE/s/.*//' "$root/gemm_steps.cu" >>unchanged
cat unchanged
echo "#line $(($(wc -l <unchanged) + 2)) \"$1\""
awk -v into=. -f "$root/src/text/edits.awk" "$root/src/experiments/changes.txt" >list
while IFS="$(printf '\t')" read -r name file words kernel; do
  sed "s/ ${kernel%.cu}(/ $name(/" "$file"
  echo
done <list
