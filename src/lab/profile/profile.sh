#!/bin/sh
# Prints ncu's counts on this machine's GPU beside the program's own:
#   src/lab/profile/profile.sh counts PROGRAM FLAGS...   every kind of access, beside the traced ones
#   src/lab/profile/profile.sh shapes PROGRAM COUNT SEED FLAGS...   the same for random shapes, briefly
#   src/lab/profile/profile.sh units PROGRAM FLAGS...    how busy each unit is, beside the ceilings
#   src/lab/profile/profile.sh caches PROGRAM FLAGS...   hit rates of L1 and L2, below the times
# FLAGS choose stages and sizes, as for PROGRAM, and for caches also an experiment. Exits with 1 if
# the two do not agree, and with 2 and one sentence if there is no GPU, no ncu, or no permission to
# read the counters.
set -eu

what=$1
program=$2
shift 2

# Shapes M N K of every kind: smaller than a tile, one off it, whole tiles, rows that are aligned to
# 16 bytes but not to a sector, and others.
draw_shapes() { # COUNT SEED
  awk -v count="$1" -v seed="$2" '
    function one_of(n) { return 1 + int(n * rand()) }
    function size(largest) {
      kind = one_of(5)
      if (kind == 1) return one_of(63)
      if (kind == 2) return 64 * one_of(largest / 64) + 2 * one_of(2) - 3
      if (kind == 3) return 64 * one_of(largest / 64)
      if (kind == 4) return 8 * one_of(largest / 8) - 4
      return one_of(largest)
    }
    BEGIN { srand(seed); for (; count > 0; --count) print size(400), size(400), size(200) }'
}

if [ "$what" = shapes ]; then
  case $1 in '' | 0* | *[!0-9]*)
    echo "$0: SHAPES=$1: give how many shapes to draw, a whole number from 1" >&2
    exit 2
    ;;
  esac
  case $2 in '' | *[!0-9]*)
    echo "$0: SEED=$2: give a whole number" >&2
    exit 2
    ;;
  esac
  shapes=$(draw_shapes "$1" "$2")
  echo "shapes   $1, drawn with seed $2; every stage that runs there, by its own choice of the tile"
  shift 2
  [ $# -gt 0 ] || set -- --stage 1-
  lines=$(mktemp)
  trap 'rm -f "$lines"' EXIT
  all=0
  wrong=0
  echo "$shapes" | {
    while read -r m n k; do
      set +e
      "$0" counts "$program" "$@" --m "$m" --n "$n" --k "$k" >"$lines"
      rc=$?
      set -e
      [ $rc -le 1 ] || exit $rc
      [ $all -gt 0 ] || sed -n '/^ncu\|^GPU\|^driver\|^run\|^clocks/p' "$lines"
      kernels=$(grep -c '^stage ' "$lines")
      counts=$(grep -c '^  .* [=≈≠c?]' "$lines")
      printf '%4d x %4d x %4d  %2d kernels, %3d counts\n' "$m" "$n" "$k" "$kernels" "$counts"
      sed -n '/^stage /h; /[≈≠]/{H; x; s/^\(stage [0-9]*\).*\n/  \1 /p; x}' "$lines" | grep -v 'less than\|not equal' || true
      all=$((all + counts))
      wrong=$((wrong + $(grep -c '^  .* ≠' "$lines" || true)))
    done
    echo "$all counts, $wrong differ"
    [ $wrong -eq 0 ]
  }
  exit
fi

. "$(dirname "$0")/find_ncu.sh"
csv=$(mktemp)
trap 'rm -f "$csv"' EXIT

untraced="--trace none" # nobody reads what the program prints under ncu
case $what in
  counts) metrics=$("$program" --ncu-metrics) ;;
  units) metrics=$("$program" --ncu-unit-metrics) ;;
  caches) metrics=$("$program" --ncu-cache-metrics) untraced= ;; # an experiment takes no --trace
  *)
    echo "$0: $what: give counts, shapes, units or caches" >&2
    exit 2
    ;;
esac
"$ncu" --csv --page raw --print-units base --clock-control none --metrics "$metrics" \
  "$program" --device gpu --reps 1 --hazards off $untraced "$@" >"$csv" 2>&1 || {
  echo "$0: ncu failed: $(grep -m 1 '==ERROR==' "$csv" || tail -n 1 "$csv")" >&2
  exit 2
}
"$ncu" --version | tail -n 1 | sed 's/^/ncu      /'
case $what in
  counts) "$program" --device gpu --reps 1 --trace all "$@" --ncu "$csv" ;;
  units) "$program" --device gpu "$@" --ncu-units "$csv" ;;
  caches) "$program" --device gpu --no-color "$@" --ncu-caches "$csv" ;;
esac
