#!/usr/bin/env bash
# make mutants: compiles every stage of gemm_steps.cu with one mistake at a time
# (src/simulator/trace/mutants.awk), all in one program, and traces them on all cores. The tracer must
# report a hazard that fits the mistake, unless the mutant is listed below. Arguments: the build
# folder, and the commands that compile and link a traced copy (Makefile). MUTANTS=n runs only every
# n-th mutant, STAGES="12 13" only those of these stages.
set -euo pipefail
build=$1 compile=$2 link=$3
folder=$build/mutants
every=${MUTANTS:-1} only=${STAGES:-}

# Mutants without effect, because the kernel behaves the same. Each is named by its stage and by the
# helper that contains or precedes it; @(a|b) is a or b, and * is anything.
pipelines='@(copy_boxes|for_each_k_tile|low_part|multiply_scaled_parts)'  # helpers of the stages from 14 on
equivalent=(
  "stage @(1|2), update_if_inside, unchecked: @(col >= N|row >= M) -- the kernel has returned before"
  "stage 11, add_up_slices, up: __syncthreads(); before __threadfence() -- what is before the barrier is also before a fence that follows it"
  "stage @(1[4-9]|2[01]|16:bf16-128x256x64), $pipelines, up: __syncthreads(); before initialize(empty, *) -- the thread that prepares the barriers also starts the copies, and the others use these only when one has come"
  "stage @(14|15), copy_boxes, down: __syncthreads(); after } -- what follows only defines a function"
  "stage @(1[6-9]|2[01]|16:bf16-128x256x64), $pipelines, down: __syncthreads(); after int reads = 0 -- it only sets a variable of the thread's own"
)
# Mutants with an effect that the tracer cannot see (src/simulator/trace/launch_watch.h, cuda/wgmma.h). One
# mutant of each stage is excused.
unseen=(
  "stage 11, add_up_slices, unfenced: __threadfence() -- the fence of the block that reads is not missed"
  "stage @(1[5-9]|2[01]|16:bf16-128x256x64), $pipelines, without: wgmma_fence_operand(@(sum|partial)) -- it is no instruction: it tells nvcc alone not to use the sums before the wait"
  "stage 17, low_part, without: mbarrier_wait(&full?at % STAGES?, at / STAGES % 2) -- the wait for split_up, which follows, is longer"
)
helper_at() { # line
  awk -v line="$1" '$1 == "device" && $4 <= line { name = $7 } END { print name }' "$folder/declarations"
}

rm -rf "$folder/clean"
mkdir -p "$folder/clean"
awk -f src/text/declarations.awk gemm_steps.cu > "$folder/declarations"
awk -v list="$folder/list" -f src/simulator/trace/mutants.awk "$folder/declarations" gemm_steps.cu \
  > "$folder/gemm_steps.cu"
# A constant that is declared here and defined elsewhere is read without a call to the tracer.
echo 'extern const int mutant;' > "$folder/mutant.h"
printf '#include <cstdlib>\nextern const int mutant;\nconst int mutant = std::atoi(std::getenv("MUTANT"));\n' \
  > "$folder/mutant.cpp"
$compile -w -include "$folder/mutant.h" -c "$folder/gemm_steps.cu" -o "$folder/raw.o"
src/simulator/trace/keep_symbols.sh "$folder/raw.o" "$folder/traced.o" stage_table_traced \
  --redefine-sym stage_table=stage_table_traced --redefine-sym memcpy=simt_memcpy \
  --redefine-sym memset=simt_memset
$link -x c++ "$folder/mutant.cpp" -x none "$folder/traced.o" -o "$folder/gemm_steps"

# The messages about a stage of the mutant; number 0 is the unchanged program.
hazards_of() { # number, stage, sizes
  local variant=
  [[ $2 != *:* ]] || variant="--variant ${2#*:} --gpu H200"  # which has room for any tile
  # With its small tile, stage 15 has one warpgroup, and that waits for itself.
  [ "$2" != 15 ] || variant="--variant first --gpu H200"
  MUTANT=$1 "$folder/gemm_steps" --device cpu --stage "${2%%:*}" $variant $3 --trace all 2>&1 \
    > /dev/null || true
}
# No tile divides these sizes. With the second size, N and K are multiples of four, so the kernels with
# float4 run. With the first two, C is loaded as well. A check of N alone prevents reads beyond the end of
# B only if the last tile of K is whole. With the last size, tiles are cut along K where a kernel does that.
# Few blocks show most mistakes, in a quarter of the time.
small=("--m 70 --n 149 --k 43 --beta 1" "--m 70 --n 148 --k 44 --beta 1" "--m 70 --n 148 --k 48"
  "--m 70 --n 148 --k 260")
large=("${small[@]/70 --n 14/150 --n 26}")

# What is reported without a mistake is no catch. $1: the stage, $2: the size
is_clean() {
  local known="$folder/clean/$1 $2" messages
  [ ! -e "$known" ] || return 0
  messages=$(hazards_of 0 "$1" "$2" | grep -v '^No GPU' || true)
  [ -z "$messages" ] || { echo "MISSED  without a mistake, stage $1: $messages"; return 1; }
  touch "$known"
}

# try_mutants SHARE: a line for each mutant of one core's share.
try_mutants() {
  export OMP_NUM_THREADS=1  # the other cores have shares of their own
  while IFS='|' read -r number stages line kind what; do
    ((number % every == 0 && number / every % cores == $1)) || continue
    case "$kind $what" in
      unchecked*) expected='accesses element [0-9,-]+ of [ABC] |race on C' ;;
      *__pipeline_*) expected='race on|is still on its way' ;;
      # A mistake at an mbarrier can also leave all threads waiting.
      count* | *mbarrier_arrive\(* | *release*) expected='waits at mbarrier_wait .* forever' ;;
      # A barrier can also announce stores of threads, not only of the copy engine.
      bytes* | phase* | *mbarrier_wait* | *expect_tx*)
        expected='without having waited for|waits at mbarrier_wait .* forever|race on' ;;
      *bar_arrive*) expected='waits at bar_sync.* forever' ;;
      *fence_mbarrier_init* | *fence_proxy_async*) expected='without a fence between' ;;
      *wgmma_fence\(*) expected='calls wgmma without a wgmma_fence' ;;
      # A warp that does not wait reads sums too early, or lets others overwrite an operand.
      *wgmma_*)
        expected='while a wgmma uses them|while the tensor cores .* may still read it|is wrong: row|race on' ;;
      *) expected='race on' ;;
    esac
    for stage in $stages; do
      [[ -z $only || " $only " == *" ${stage%%:*} "* ]] || continue
      # Without the lines' numbers, which change.
      place="stage $stage, $(helper_at "$line"), $kind: $(sed -E 's/ line [0-9]+:/ /; s/  / /' <<< "${what%;}")"
      for mistake in "${equivalent[@]}"; do
        [[ $place == ${mistake%% -- *} ]] || continue
        echo "the same    $place -- ${mistake#* -- }"
        continue 2
      done
      verdict="MISSED  stage $stage, line $line, $kind: ${what%;}" sizes=("${small[@]}" "${large[@]}")
      for mistake in "${unseen[@]}"; do
        [[ $place != ${mistake%% -- *} ]] || verdict="not seen  $place -- ${mistake#* -- }" sizes=("${small[@]}")
      done
      for size in "${sizes[@]}"; do
        hazards_of "$number" "$stage" "$size" | grep -E "$expected" > /dev/null || continue
        is_clean "$stage" "$size" || continue
        verdict="caught  stage $stage, line $line, $kind: ${what%;}"
        break
      done
      echo "$verdict"
    done
  done < "$folder/list"
}
cores=$(nproc) shares=()
{
  for ((share = 0; share < cores; ++share)); do
    try_mutants $share &
    shares+=($!)
  done
  for share in "${shares[@]}"; do wait "$share" || exit 1; done
} | tee "$folder/verdicts"
awk '$1 == "not" && seen[$0]++ { $1 = "MISSED"; print "MISSED  a second of: " $0 }
  { ++n[$1] }
  END {
    printf "%d/%d mutants caught; %d more are equivalent, and %d cannot be seen\n", n["caught"],
      n["caught"] + n["MISSED"], n["the"], n["not"]
    exit n["MISSED"] > 0
  }' "$folder/verdicts"
