# Makes kernels from others by the small edits in src/experiments/changes.txt:
#
#   awk -f src/experiments/changed_kernels.awk changes.txt gemm_steps.cu
#
# prints them as C++. The list:
#
#   # ...          a comment
#   NEW of OLD     the following lines change the kernel OLD; the result is called NEW
#   -LINE          a removed line
#   +LINE          an added line
#    LINE          an unchanged line, which shows where the change is
#   ...            the change continues at another place
#
# OLD must contain the lines of one place exactly once, one after the other. Everything else is an
# error: exit code 1.

function refuse(what) {
  print "changed_kernels.awk: " what > "/dev/stderr"
  failed = 1
  exit 1
}


FNR == 1 { ++files }

# The list.
files == 1 && (/^#([^p]|$)/ || /^$/) { next }
files == 1 && /^[a-z_0-9]+ of [a-z_0-9]+$/ {
  name[++news] = $1
  base[news] = $3
  place = 1
  next
}
files == 1 && /^\.\.\.$/ { ++place; next }
files == 1 && /^[-+ ]/ && news {
  if (!/^\+/) old[news, place, ++olds[news, place]] = substr($0, 2)
  if (!/^-/) put[news, place] = put[news, place] substr($0, 2) "\n"
  places[news] = place
  next
}
files == 1 { refuse("changes.txt:" FNR ": not a line of a change: " $0) }

# The kernels: from "template" to the brace that closes the function.
/^template </ { first = 1; lines = 0; kernel = "" }
first { line[++lines] = $0 }
first && match($0, /[a-z_0-9]+\($/) { if (kernel == "") kernel = substr($0, RSTART, RLENGTH - 1) }
first && /^}$/ {
  first = 0
  for (n = 1; n <= news; ++n) if (base[n] == kernel) change(n)
}

function change(n,    at, i, p, times, where, out, text) {
  split("", at)
  for (p = 1; p <= places[n]; ++p) {
    times = 0
    for (i = 1; i + olds[n, p] - 1 <= lines; ++i) {
      if (stand_at(n, p, i)) { ++times; where = i }
    }
    if (times != 1) refuse(name[n] ": place " p " is in " base[n] " " times " times, not once")
    at[where] = p
  }
  for (i = 1; i <= lines; ++i) {
    if (i in at) {
      text = text put[n, at[i]]
      i += olds[n, at[i]] - 1
    } else {
      text = text line[i] "\n"
    }
  }
  if (sub(" " base[n] "\\(", " " name[n] "(", text) != 1) refuse(name[n] ": no name to change")
  printf "%s\n", text
  made[n] = 1
}

function stand_at(n, p, i,    j) {
  if (!olds[n, p]) return 0
  for (j = 1; j <= olds[n, p]; ++j) if (line[i + j - 1] != old[n, p, j]) return 0
  return 1
}

END {
  if (failed) exit 1
  for (n = 1; n <= news; ++n) {
    if (!made[n]) { print "changed_kernels.awk: there is no kernel " base[n] > "/dev/stderr"; exit 1 }
  }
}
