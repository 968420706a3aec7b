# recorded_products.awk FILES: the products in the reports that record.sh wrote, as rows of C++ for
# recorded.cpp. A report without a time has none.

function finish() {
  if (ms > 0 && tflops > 0)
    printf "{\"%s\", %s, {%s}, {%s}, %s, %s, %s, %s, {%s}},\n", gpu, multiplier, shape, grid, resident, panel, \
        ms, tflops, widths
}
# What follows `label` in the lines about the product, which are wrapped anywhere.
function after(label) { return substr(about, index(about, label) + length(label)) + 0 }

FNR == 1 { finish(); ms = 0; about = widths = "" }
/^GPU  / { gpu = $0; gsub(/^GPU +|,.*/, "", gpu) }
/^GPUs: / { multiplier = $0; gsub(/.*multiplies by stage |,.*/, "", multiplier) }
/^problem  C / { shape = substr($3, 2) ", " $5 + 0 ", " $12 + 0 }
/^schedule: /, /^$/ { about = about " " $0 }
/^(distributed|from the host) / {
  resident = /^d/ ? "true" : "false"
  sub(/^[a-z ]+/, "")
  gsub(/,/, "")
  grid = $2 ", " $4
  ms = $5 + 0
  panel = after("panels of ")
  tflops = after("first panels, TFLOP/s: ")
}
/^panels +wide/, /^$/ { gsub(/,/, ""); if ($1 + 0 > 0) widths = widths "{" $2 ", " $3 "}, " }
END { finish() }
