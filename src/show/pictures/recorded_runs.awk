# recorded_runs.awk FILES: the ladders of square matrices among the runs that --json wrote, as rows of
# C++ for recorded_gpus.cpp: a run's GPU, its size, and the speeds that its stages and cuBLAS reached.

# The value of the line's first "key", without quotes; 0 if it is null or missing.
function of(key,    value) {
  if (!match($0, "\"" key "\": (\"[^\"]*\"|[^,}\"]+)")) return 0
  value = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)
  gsub(/"/, "", value)
  return value == "null" ? 0 : value
}

function finish(    i) {
  if (!is_run) return
  if (last != "}") fail = fail file ": is not complete; record it again, or remove it and run make\n"
  if (M == N && M == K && M > 0 && speeds ~ /\{1, / && speeds ~ /kCublasFp32/)
    printf "{\"%s\", %s, {%d, {%s}, \"%s\"}},\n", file, gpu, M, speeds, name
}

FNR == 1 {
  finish()
  file = FILENAME
  sub(/.*\//, "", file)
  is_run = 0
  speeds = ""
}
/^  "program": "gemm_steps"/ { is_run = 1 }
/^  "problem":/ { M = of("M"); N = of("N"); K = of("K") }
/^  "gpu":/ {
  name = of("name")
  gpu = of("compute_capability") ", " of("sms") ", " of("boost_ghz") ", " of("dram_gb_per_s") ", " \
      of("l2_bytes_per_clock")
}
/^      "number":/ { row = of("number") }
/^      "name":/ && /"cuBLAS [ft]/ { row = /fp32/ ? "kCublasFp32" : "kCublasTf32" }
/^      "name": "OpenMP/ { row = "" }
/^      "tflops":/ { tflops = of("tflops"); before = 0 }
/^      "times_the_stage_before":/ { before = of("times_the_stage_before") }
/^    [}]/ && row != "" && tflops > 0 {
  speeds = speeds "{" row ", " tflops ", " before "}, "
  row = ""
}
{ last = $0 }
END {
  finish()
  if (fail != "") { printf "%s", fail | "cat >&2"; exit 1 }
}
