# Makes of what `nvcc -Xptxas -v` says, demangled by c++filt -p, a record a kernel and architecture:
#   {"kernel", compute capability, registers a thread, bytes spilled a thread, bytes of static
#   shared memory a block},
# ptxas names a kernel, then tells on the lines that follow what it spilled and what it uses.

# The number that stands before these words, 0 where they do not occur.
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
