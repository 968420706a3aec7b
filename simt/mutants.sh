#!/usr/bin/env bash
# make mutants: takes every __syncthreads() and every __pipeline_wait_prior() out of gemm_steps.cu,
# one at a time, and traces the stage that lost it. A hazard must be named, of the kind expected.
# Arguments: the build folder, and the commands that compile and link a traced copy (Makefile).
set -euo pipefail
build=$1 compile=$2 link=$3
folder=$build/mutants
total=0 caught=0

while IFS=: read -r line text; do
  stage=$(head -n "$line" gemm_steps.cu | grep -oE '^// Stage [0-9]+' | tail -n 1 | tr -dc 0-9)
  mkdir -p "$folder"
  sed "${line}s/.*/;/" gemm_steps.cu > "$folder/gemm_steps.cu"
  $compile -w -c "$folder/gemm_steps.cu" -o "$folder/raw.o"
  ld -r --force-group-allocation "$folder/raw.o" -o "$folder/merged.o"
  objcopy --redefine-sym stage_table=stage_table_traced --redefine-sym memcpy=simt_memcpy \
    --redefine-sym memset=simt_memset --redefine-sym shared=simt_dynamic_shared \
    "$folder/merged.o" "$folder/renamed.o"
  objcopy --keep-global-symbol=stage_table_traced "$folder/renamed.o" "$folder/traced.o"
  $link "$folder/traced.o" -o "$folder/gemm_steps"

  # No tile divides these.
  said=$("$folder/gemm_steps" --device cpu --stage "$stage" --m 150 --n 270 --k 43 --trace all \
    2>&1 > /dev/null || true)
  expected='race on'
  case $text in *wait_prior*) expected='race on|is still on its way' ;; esac
  total=$((total + 1))
  verdict=MISSED
  if grep -qE "$expected" <<< "$said"; then
    caught=$((caught + 1))
    verdict=caught
  fi
  echo "$verdict  stage $stage, line $line without $(tr -d ' ;' <<< "$text")"
done < <(grep -nE '^ +(__syncthreads\(\)|__pipeline_wait_prior\(.*\));' gemm_steps.cu)

echo "$caught of $total mutants caught"
[ "$caught" = "$total" ]
