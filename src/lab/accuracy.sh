#!/bin/bash
# Errors of stages 11, 17 and 21 beside cuBLAS's with fp32, and the speeds of all stages from 11 on
# that promise fp32, for data of several kinds:
#   src/lab/accuracy.sh PROGRAM SIZE...
# An error is the Frobenius norm of C minus the fp64 reference, divided by the reference's. FAIL is a
# wrong result, tiny one that is right but for numbers that are too small for the stage's format.
# Exits with 2 and one sentence where there is no GPU.
set -eu

program=$1
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for size; do
  for data in uniform normal positive wide wide-k relu spike; do
    "$program" --device gpu --stage 11,17-21 --variant first --trace none --hazards off \
      --size "$size" --data "$data" --format json >"$work/json" || { code=$?; [ $code -eq 1 ] || exit $code; }
    awk -v size="$size" -v data="$data" -v speeds="$work/speeds" '
      function member(name) {
        match($0, "\"" name "\": [-+.0-9e]+")
        return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0
      }
      /"name": "/ { name = $0; sub(/.*"name": "/, "", name); sub(/".*/, "", name) }
      /"error": / && /"relative": / {
        error[name] = member("relative")
        verdict[name] = /"bound_ok": false/ ? "FAIL" : /"forgiven": true/ ? "tiny" : ""
      }
      /^ *"tflops": / { speed[name] = member("tflops") }
      END {
        blas = error["cuBLAS fp32"]
        tf32 = error["fp32 from tf32 parts"]
        fp16 = error["proven parts"]
        printf "%6d  %-9s  %11.2e  %9.2e  %9.2e  %9.2e  %14.2f  %14.2f\n", size, data, blas,
               error["balanced"], tf32, fp16, tf32 / blas, fp16 / blas
        printf "%6d  %-9s  %11.3g", size, data, speed["cuBLAS fp32"] >>speeds
        count = split("balanced,fp32 from tf32 parts,fp32 from fp16 parts,taking turns," \
                      "scaled parts,proven parts", names, ",")
        for (i = 1; i <= count; ++i) {
          shown = verdict[names[i]] ? verdict[names[i]] : sprintf("%.3g", speed[names[i]])
          printf "  %8s", shown >>speeds
        }
        print "" >>speeds
      }' "$work/json" >>"$work/rows"
  done
done

sed -n 's/^ *"gpu": {"name": "\([^"]*\)".*"driver": "\([^"]*\)".*/GPU      \1\ndriver   \2/p' "$work/json"
sed -n 's/^ *"date": "\([^"]*\)".*/run      \1, src\/lab\/accuracy.sh/p' "$work/json"
echo
echo "relative error"
echo "  size  data       cuBLAS fp32   stage 11   stage 17   stage 21  17 over cuBLAS  21 over cuBLAS"
cat "$work/rows"
echo
echo "TFLOP/s"
echo "  size  data       cuBLAS fp32  stage 11  stage 17  stage 18  stage 19  stage 20  stage 21"
cat "$work/speeds"
