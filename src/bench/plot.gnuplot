# Draws `points` (plot.sh) to `output_file`, with `ticks` on the axis of sizes.
set terminal svg size 1000,820 dynamic font "sans-serif,14" name "gemm_steps"
set output output_file
set logscale x 2
set logscale y
set key outside right top vertical Left reverse samplen 2 spacing 1.2
set xlabel "M = N = K"
set ylabel "TFLOP/s (medians)"
set format y "%g"
set grid ytics lc rgb "#808080" lw 0.5
eval "set xtics (" . ticks . ")"
set border 3
set tics nomirror
set offsets graph 0.05, graph 0.05, 0, 0
# Okabe and Ito's colours, without black, which is dark, and yellow, which is light. Every series has
# another pair of colour and mark.
colours = "#e69f00 #56b4e9 #009e73 #d55e00 #cc79a7 #0072b2"
colour(i) = word(colours, 1 + i % 6)
stats points using 2 nooutput
last = STATS_blocks - 1
plot for [i = 0:last] points index i using 1:2 with linespoints \
  lc rgb colour(i) lw 2 dt 1 + (i / 6) % 4 pt (1 + i % 15) ps 0.9 title columnheader(1)
