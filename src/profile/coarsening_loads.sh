#!/bin/bash
# Loads from shared memory when a thread of stage 4 computes 1, 2, 4, 8 and 16 results of a 16 x 16
# tile, at M * N * K = 2^31: as written, by a published rule, by the recorded instructions, and as
# ncu counts them on this machine's GPU: src/profile/coarsening_loads.sh PROGRAM
set -eu

program=$1
shape="--m 2048 --n 1024 --k 1024"
metric=smsp__sass_inst_executed_op_shared_ld.sum

. "$(dirname "$0")/find_ncu.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for results in 1 2 4 8 16; do
  flags="--device gpu --stage 4 --variant 16x16x16-tm$results $shape --reps 1 --hazards off"
  "$program" $flags --format json >"$work/json"
  "$ncu" --csv --page raw --clock-control none --metrics $metric "$program" $flags \
    >"$work/ncu" 2>&1 || {
    echo "$0: ncu failed: $(grep -m 1 '==ERROR==' "$work/ncu" || tail -n 1 "$work/ncu")" >&2
    exit 2
  }
  # The last column of the last launch's line.
  counted=$(grep '^"' "$work/ncu" | tail -n 1 | sed 's/.*,"\([^"]*\)"$/\1/; s/,//g')
  awk -v results=$results -v counted="$counted" '
    function member(name) {
      if (!match($0, "\"" name "\": [0-9.]+")) return 0
      return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0
    }
    /^      "blocks":/ { blocks = member("blocks") }
    /"sample":/ { written = member("smem_load_requests") / member("blocks") }
    /"compiled":/ { made = member("smem_load_requests"); inner = $0; sub(/.*"inner"/, "", inner)
                    $0 = inner; pairs = member("lds_64"); fours = member("lds_128") }
    /"name": "[A-Z]/ && gpu == "" { gpu = $0 }
    END { print results, written * blocks, made, counted, pairs, fours }' "$work/json" \
    >>"$work/rows"
done

"$ncu" --version | tail -n 1 | sed 's/^/ncu      /'
sed -n 's/^ *"gpu": {"name": "\([^"]*\)".*"driver": "\([^"]*\)".*/GPU      \1\ndriver   \2/p' "$work/json"
sed -n 's/^ *"date": "\([^"]*\)".*/run      \1, results\/coarsening_loads.sh/p' "$work/json"
awk '
  BEGIN {
    print "problem  M = 2048, N = K = 1024: M * N * K = 2^31, stage 4 with a 16 x 16 tile, BK 16"
    print ""
    print "requests that load from shared memory, in millions"
    print ""
    print "                                      published,     recorded         ncu"
    print "results/thread  threads  as written  (1/4 + 1/s)  instructions     counted"
    steps = 2 ^ 31 / 32
  }
  {
    s = $1
    # A block of 16 threads fills half of a warp, so it needs twice as many warps.
    half = s == 16 ? 2 : 1
    rule = half * steps * (1 / 4 + 1 / s)
    printf "%14d  %7d  %10.2f  %11.2f  %12.2f  %10.2f  %s\n", s, 256 / s, $2 / 1e6, rule / 1e6,
           $3 / 1e6, $4 / 1e6, $3 == $4 ? "=" : "differs from the record"
    same += $4 == rule
    recorded += $3 == $4
    if ($4 != rule && $5 > 0 && $6 == 0) {
      why = why sprintf("s = %d: this compiler loads A in pairs (LDS.64), which is %d * (1/2 + 1/%d) * MNK/32 = %.2f.\n",
                        s, half, s, half * steps * (1 / 2 + 1 / s) / 1e6)
    } else if ($4 != rule) {
      why = why sprintf("s = %d: not explained.\n", s)
    }
  }
  END {
    print ""
    print "published     counted on an RTX 3090 by the author of the sweep: 83.89, 50.33, 33.55, 25.17"
    print "              and 41.94, which is four loads along k of the A tile in one LDS.128"
    print "recorded      src/model/compiled_kernels.inc: the LDS of one iteration of the main loop, times the iterations"
    printf "\n%d of %d are as published, and %d of %d as recorded.\n%s", same, NR, recorded, NR, why
    exit recorded == NR ? 0 : 1
  }' "$work/rows"
