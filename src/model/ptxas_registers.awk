# Converts the output of `nvcc -Xptxas -v`, demangled by c++filt -p, to one record per kernel and
# architecture:
# {"kernel", compute capability, registers per thread, bytes spilled per thread, bytes of static
# shared memory per block},
# ptxas names a kernel, and prints on the following lines what it spilled and what it uses.

# The number before these words, or 0 if they do not occur.
function count_of(words) {
  if (!match($0, "[0-9]+ " words)) return 0
  return substr($0, RSTART, RLENGTH) + 0
}
/Compiling entry function/ {
  split($0, quoted, "\047")
  kernel = quoted[2]
  sub(/^\(anonymous namespace\)::/, "", kernel)
  capability = substr(quoted[4], 4) + 0  # of "sm_90a"
}
/bytes spill stores/ { spilled = count_of("bytes spill stores") }
/Used [0-9]+ registers/ {
  printf "{\"%s\", %d, %d, %d, %d},\n", kernel, capability, count_of("registers"), spilled,
         count_of("bytes smem")
}
