#!/bin/bash
# ncu's report of a few stages, for the walkthrough's chapter about reading one:
#   src/profile/report.sh PROGRAM SIZE STAGE...
# Exits with 2 and one sentence where there is no GPU, no ncu, or ncu may not read the counters.
set -eu

program=$1
size=$2
shift 2

. "$(dirname "$0")/find_ncu.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The sections print only the advice about stalls; these are the reasons that the chapter reads.
stalls=
for reason in long_scoreboard short_scoreboard barrier mio_throttle lg_throttle wait not_selected; do
  stalls=$stalls${stalls:+,}smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
done

"$ncu" --version | tail -n 1 | sed 's/^/ncu      /'
for stage; do
  # All launches of a stage are alike, and the first is enough. cuBLAS has kernels of other names.
  "$ncu" --log-file "$work/report" --clock-control none --launch-count 1 \
    --kernel-name 'regex:^(naive|coalesced|shared_memory|thread_|vectorized|conflict_|warp_|async_|register_|balanced)' \
    --section SpeedOfLight --section SchedulerStats --section WarpStateStats --section Occupancy \
    --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables --metrics "$stalls" \
    "$program" --device gpu --stage "$stage" --size "$size" --reps 1 --hazards off >"$work/table" || {
    echo "$0: ncu failed: $(grep -m 1 '==ERROR==' "$work/report" "$work/table" || :)" >&2
    exit 2
  }
  echo
  # ncu starts the program by its whole path.
  grep -E '^(problem|GPU|driver|run) ' "$work/table" | sed 's|, /[^ ]*/|, ./|' || :
  grep -v '^==' "$work/report"
done
