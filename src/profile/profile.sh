#!/bin/bash
# Prints ncu's counts on this machine's GPU beside the program's own:
#   src/profile/profile.sh counts PROGRAM FLAGS...   every kind of access, beside the traced ones
#   src/profile/profile.sh units PROGRAM FLAGS...    how busy each unit is, beside the ceilings
#   src/profile/profile.sh caches PROGRAM FLAGS...   hit rates of L1 and L2, below the times
#   src/profile/profile.sh loads PROGRAM             the loads from shared memory of counts, when a
#     thread of stage 4 computes 1, 2, 4, 8 and 16 results of a 16 x 16 tile, at M * N * K = 2^27
#   src/profile/profile.sh shapes PROGRAM COUNT SEED FLAGS...   what is not equal in counts, for COUNT
#     random shapes; each stage runs the tile that suits the shape
#   src/profile/profile.sh report PROGRAM SIZE STAGE...   ncu's own report
#   src/profile/profile.sh file YOURS FLAGS... [-- ARGUMENTS...]   the counts of the kernels in your
#     own file, named by KERNEL; YOURS is what try.sh built of it. Of each kernel of a whole program
#     the first launch is compared
# FLAGS choose stages and sizes, as for PROGRAM, and for caches also an experiment. Exits with 1 if
# the two do not agree, and with 2 and one sentence if there is no GPU, no ncu, or no permission to
# read the counters.
set -eu

what=$1
program=$2
shift 2
counts=${PROFILE:-$0} # in the tests, what is run for each shape
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

refuse() {
  echo "$0: $*" >&2
  exit 2
}

# Writes what ncu and the program print to $work/ncu.
run_ncu() {
  "$ncu" --clock-control none "$@" >"$work/ncu" 2>&1 </dev/null || {
    # A whole program may end with another code than 0.
    [ "$what" = file ] && grep -q '^"' "$work/ncu"
  } || refuse "ncu failed: $(grep -m 1 '==ERROR==' "$work/ncu" || tail -n 1 "$work/ncu")"
}

case $what in
  counts | units | caches | report | file)
    # For a file, `make` has found the GPU.
    [ "$what" = file ] || "$program" --device gpu --size 1 --reps 1 >/dev/null
    ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null) ||
      refuse "there is no ncu on the PATH; install NVIDIA Nsight Compute"
    "$ncu" --version | tail -n 1 | sed 's/^/ncu      /'
    ;;
esac
raw="--csv --page raw --print-units base"
once= again= untraced="--trace none" # nobody reads what the program prints under ncu
case $what in
  counts)
    once="--filter-mode per-launch-config --launch-count 1" # a warm-up and repetitions are equal
    again="--reps 1 --trace all"
    ;;
  caches) untraced= again=--no-color ;; # an experiment takes no --trace
esac

case $what in
  counts | units | caches)
    run_ncu $raw $once --metrics "$("$program" --ncu-metrics $what)" \
      "$program" --device gpu --reps 1 --hazards off $untraced "$@"
    "$program" --device gpu $again "$@" --ncu "$work/ncu"
    ;;
  loads)
    for results in 1 2 4 8 16; do
      "$counts" counts "$program" --stage 4 --variant 16x16x16-tm$results --m 512 --n 256 --k 1024 \
        >"$work/counts" || refuse "the counts of 16x16x16-tm$results differ, or could not be compared"
      [ $results != 1 ] || grep -E '^(ncu|GPU|driver|run) ' "$work/counts" || :
      grep -E '^stage | ncu .* traced|LDS requests .*[0-9]' "$work/counts"
    done
    ;;
  shapes)
    count=$1
    seed=$2
    shift 2
    [ $# -gt 0 ] || set -- --stage 1-
    case $count in '' | 0* | *[!0-9]*) refuse "SHAPES=$count: give how many shapes to draw, a whole number from 1" ;; esac
    case $seed in '' | *[!0-9]*) refuse "SEED=$seed: give a whole number" ;; esac
    # M N K of every kind: smaller than a tile, one off it, whole tiles, rows that are aligned to 16
    # bytes but not to a sector, and others.
    awk -v count="$count" -v seed="$seed" '
      function one_of(n) { return 1 + int(n * rand()) }
      function size(largest) {
        kind = one_of(5)
        if (kind == 1) return one_of(63)
        if (kind == 2) return 64 * one_of(largest / 64) + 2 * one_of(2) - 3
        if (kind == 3) return 64 * one_of(largest / 64)
        if (kind == 4) return 8 * one_of(largest / 8) - 4
        return one_of(largest)
      }
      BEGIN { srand(seed); for (; count > 0; --count) print size(400), size(400), size(200) }' >"$work/shapes"
    echo "shapes   $count, drawn with seed $seed; each stage runs the tile that suits the shape"
    verdict="no count differs"
    while read -r m n k; do
      compared=0
      "$counts" counts "$program" "$@" --m "$m" --n "$n" --k "$k" >"$work/counts" </dev/null || compared=$?
      [ $compared -le 1 ] || exit 2
      [ $compared -eq 0 ] || verdict="counts marked ≠ differ"
      [ -e "$work/first" ] || grep -E '^(ncu|GPU|driver|run|clocks) ' "$work/counts" | tee "$work/first"
      # The legend follows the last empty line, and its signs are not counts.
      awk -v shape="$m x $n x $k" '
        /^stage / { ++kernels; stage = $1 " " $2; next }
        / (=|≈.*|≠|c|[?])$/ && kernels { ++counts; if (/≈|≠/) others = others "  " stage $0 "\n" }
        /^$/ && kernels { exit }
        END { printf "%-18s %2d kernels, %3d counts\n%s", shape, kernels, counts, others }' "$work/counts"
    done <"$work/shapes"
    echo "$verdict"
    [ "$verdict" = "no count differs" ]
    ;;
  report)
    # The sections print only the advice about stalls; these are the reasons that the walkthrough reads.
    stalls=$(printf ',smsp__average_warps_issue_stalled_%s_per_issue_active.ratio' \
      long_scoreboard short_scoreboard barrier mio_throttle lg_throttle wait not_selected)
    size=$1
    shift
    for stage; do
      # All launches of a stage are alike, and the first is enough. cuBLAS has kernels of other names.
      run_ncu --launch-count 1 \
        --kernel-name 'regex:^(naive|coalesced|shared_memory|thread_|vectorized|conflict_|warp_|async_|register_|balanced)' \
        --section SpeedOfLight --section SchedulerStats --section WarpStateStats --section Occupancy \
        --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables --metrics "${stalls#,}" \
        --log-file "$work/report" "$program" --device gpu --stage "$stage" --size "$size" --reps 1 --hazards off
      echo
      # ncu starts the program by its whole path.
      grep -E '^(problem|GPU|driver|run) ' "$work/ncu" | sed 's|, /[^ ]*/|, ./|' || :
      grep -v '^==' "$work/report"
    done
    ;;
  file)
    yours=$(realpath "$program")
    metrics=$("$yours" --ncu-metrics counts)
    if [ -x "$yours.on_gpu" ]; then
      ( # with the words behind --, in the folder of its file
        while [ $# != 0 ] && [ "$1" != -- ]; do shift; done
        [ $# = 0 ] || shift
        cd "$(dirname "$KERNEL")"
        run_ncu $raw --metrics "$metrics" --launch-count 1000 "$yours.on_gpu" "$@"
      )
    else
      set -- --size 256 "$@" # on a GPU the default is larger
      run_ncu $raw --metrics "$metrics" "$yours" --device gpu --reps 1 --hazards off "$@"
    fi
    "$yours" --trace all --ncu "$work/ncu" "$@"
    ;;
esac
