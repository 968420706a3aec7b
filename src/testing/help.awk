# Prints the goals of the makefiles that have a description behind `##`, in four groups.
BEGIN {
  FS = ":.*## "
  split("Read|Do the exercises, and try your own kernels|Teach|Maintain", title, "|")
  split("run profile ceilings caches bench plot help|grade try show step debug time|grade-class slides book", names, "|")
  for (g in names) {
    n = split(names[g], name, " ")
    while (n) group[name[n--]] = g
  }
}
/^[a-z-]+:.*## / {
  g = $1 in group ? group[$1] : 4
  line = sprintf("  make %-16s", $1)
  n = split($2, word, " ")
  for (i = 1; i <= n; ++i) {
    if (length(line " " word[i]) > 100) {
      text[g] = text[g] line "\n"
      line = sprintf("%23s", "")
    }
    line = line " " word[i]
  }
  text[g] = text[g] line "\n"
}
END {
  for (g = 1; g <= 4; ++g) printf "%s\n%s\n", title[g], text[g]
  print "NVCC=path, or NVCC= to build without CUDA; ARCHS=\"86 90a\" to choose architectures; V=1 to show"
  printf "commands; WERROR=1 to make warnings errors.\nNow: NVCC=%s, ARCHS=\"%s\".\n", nvcc, archs
}
