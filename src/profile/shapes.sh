#!/bin/bash
# Compares ncu's counts with the traced ones (profile.sh) for COUNT random shapes, and prints the
# counts that are not equal:
#   src/profile/shapes.sh PROGRAM COUNT SEED FLAGS...
# Each stage runs the tile that suits the shape. Exits with 1 if a count differs, and with 2 and one
# sentence if there is nothing to compare. PROFILE= names another profile.sh, for the tests.
set -eu

program=$1
count=$2
seed=$3
shift 3
[ $# -gt 0 ] || set -- --stage 1-
profile=${PROFILE:-$(dirname "$0")/profile.sh}

case $count in '' | 0* | *[!0-9]*)
  echo "$0: SHAPES=$count: give how many shapes to draw, a whole number from 1" >&2
  exit 2
  ;;
esac
case $seed in '' | *[!0-9]*)
  echo "$0: SEED=$seed: give a whole number" >&2
  exit 2
  ;;
esac

report=$(mktemp)
trap 'rm -f "$report"' EXIT

# M N K of every kind: smaller than a tile, one off it, whole tiles, rows that are aligned to 16 bytes
# but not to a sector, and others.
shapes=$(awk -v count="$count" -v seed="$seed" '
  function one_of(n) { return 1 + int(n * rand()) }
  function size(largest) {
    kind = one_of(5)
    if (kind == 1) return one_of(63)
    if (kind == 2) return 64 * one_of(largest / 64) + 2 * one_of(2) - 3
    if (kind == 3) return 64 * one_of(largest / 64)
    if (kind == 4) return 8 * one_of(largest / 8) - 4
    return one_of(largest)
  }
  BEGIN { srand(seed); for (; count > 0; --count) print size(400), size(400), size(200) }')

echo "shapes   $count, drawn with seed $seed; each stage runs the tile that suits the shape"
echo "$shapes" | {
  status=0
  first=yes
  while read -r m n k; do
    compared=0
    "$profile" counts "$program" "$@" --m "$m" --n "$n" --k "$k" >"$report" || compared=$?
    [ $compared -le 1 ] || exit 2
    [ $compared -eq 0 ] || status=1
    [ -z "$first" ] || grep -E '^(ncu|GPU|driver|run|clocks) ' "$report" || :
    first=
    # The legend follows the last empty line, and its signs are not counts.
    awk -v shape="$m x $n x $k" '
      /^stage / { ++kernels; stage = $1 " " $2; next }
      / (=|≈.*|≠|c|[?])$/ && kernels { ++counts; if (/≈|≠/) others = others "  " stage $0 "\n" }
      /^$/ && kernels { exit }
      END { printf "%-18s %2d kernels, %3d counts\n%s", shape, kernels, counts, others }' "$report"
  done
  [ $status -eq 0 ] && echo "no count differs" || echo "counts marked ≠ differ"
  exit $status
}
