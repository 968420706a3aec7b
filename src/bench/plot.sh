#!/bin/bash
# plot.sh CSV SVG: draws the times of a bench (make bench) over sizes, with gnuplot. The picture
# follows the reader's choice of light or dark. Exit codes: 0 drawn, 2 not.
set -uo pipefail
csv=$1 svg=$2
refuse() { echo "plot: $*" >&2; exit 2; }
bench=${0%/*}
command -v gnuplot > /dev/null ||
  refuse "gnuplot, which draws, is missing; install it, for example by: apt install gnuplot-nox"
[ -f "$csv" ] || refuse "$csv: no such file; make bench writes it, or give CSV=file"
work=$(mktemp -d) || exit 2
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

# A block of "size TFLOP/s" for each kernel, with its name first; the stages in order, then the rest.
awk -v problem="$csv" '
  function fields_of(line,    n, field, at, quoted, sign) {
    n = 1; field = ""; quoted = 0
    for (at = 1; at <= length(line); at++) {
      sign = substr(line, at, 1)
      if (sign == "\"") quoted = !quoted
      else if (sign == "," && !quoted) { value[n++] = field; field = "" }
      else if (sign != "\r") field = field sign
    }
    value[n] = field
    return n
  }
  NR == 1 { n = fields_of($0); for (i = 1; i <= n; i++) column[value[i]] = i; next }
  { fields_of($0); name = value[column["name"]]; stage = value[column["stage"]] }
  value[column["tflops"]] == "" { next }
  !(name in points) { if (stage != "") names[++stages] = name; else others[++rest] = name; number[name] = stage }
  { points[name] = points[name] value[column["size"]] " " value[column["tflops"]] "\n" }
  function block(name) { printf "\"%s\"\n%s\n\n", (number[name] == "" ? "" : number[name] " ") name, points[name] }
  END {
    for (i = 1; i <= stages; i++) block(names[i])
    for (i = 1; i <= rest; i++) block(others[i])
    exit stages + rest == 0
  }' "$csv" > "$work/points" || refuse "$csv: has no times; give the CSV of make bench FORMAT=csv"

sizes=$(awk 'NF == 2 && $1 ~ /^[0-9]+$/ { print $1 }' "$work/points" | sort -nu | sed 's/.*/"&" &/' | paste -sd,)
gnuplot -e "points='$work/points'; ticks='$sizes'; output_file='$work/plot.svg'" "$bench/plot.gnuplot" \
  2> "$work/messages" || refuse "gnuplot: $(head -n 3 "$work/messages" | tr '\n' ' ')"
# What gnuplot draws in black becomes the colour of text (plot.css).
mkdir -p -- "$(dirname -- "$svg")" 2> /dev/null
sed -e "0,/<desc>/s||<style>\n$(sed ':a;N;$!ba;s/\n/\\n/g' "$bench/plot.css")</style>\n<desc>|" \
  "$work/plot.svg" > "$work/done.svg" && cp -- "$work/done.svg" "$svg.tmp" 2> /dev/null &&
  mv -- "$svg.tmp" "$svg" || refuse "$svg: cannot be written"
echo "$svg"
