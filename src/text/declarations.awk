# declarations.awk: what a source file in the layout of gemm_steps.cu defines, for the scripts that ask.
#
#   awk -f src/text/declarations.awk gemm_steps.cu
#
# Prints a line for each definition, in their order:
#
#   KIND STAGE ABOVE FIRST LINE LAST NAME
#
#   KIND   kernel; device (another function of the GPU); host (any other function); struct; member
#          (a struct's function for the GPU, or a struct in it); stage (an entry of the stages' table)
#   STAGE  the stage or variant that the comment above it begins with, as in "// Stage 2: coalesced"
#          or "// Variant NAME of stage 16: ...": 2 or 16:NAME. Of an entry, its number. Otherwise -
#   ABOVE  the first line of that comment, or else FIRST
#   FIRST  the first line, which may be a template's head; LINE: the one with the name; LAST: the last
#
# A definition begins in the first column and ends with a brace there. Its comment is right above it.

function indent(l) { match(text[l], /^ */); return RLENGTH }

# The name that line l gives to a struct or function, or "".
function name_in(l,   code, end, depth) {
  code = text[l]
  if (match(code, /^ *struct [A-Za-z_0-9]+ [{:]/)) {
    split(substr(code, RSTART, RLENGTH), words, " ")
    return words[2]
  }
  # Without attributes: "__launch_bounds__((BM / TM) * (BN / TN), 3) ".
  while (match(code, /__[A-Za-z_0-9]+__\(/)) {
    depth = 1
    for (end = RSTART + RLENGTH; depth > 0 && end <= length(code); ++end) {
      depth += (substr(code, end, 1) == "(") - (substr(code, end, 1) == ")")
    }
    code = substr(code, 1, RSTART - 1) substr(code, end)
  }
  return match(code, /[A-Za-z_0-9]+\(/) ? substr(code, RSTART, RLENGTH - 1) : ""
}

# The last line of what begins in line l.
function last_of(l,   depth, last) {
  depth = indent(l)
  if (text[l] ~ /^ *template /) ++l
  if (text[l] ~ /[;}]$/) return l
  for (last = l++; l <= NR; ++l) {
    if (text[l] ~ /^ *$|^#/) continue
    if (indent(l) == depth && text[l] ~ /^ *}/) return l
    if (indent(l) <= depth) break
    last = l
  }
  return last
}

# Shows what begins in line l, and returns its last line.
function definition(l, above, stage,   last, line, kind, name) {
  last = last_of(l)
  for (line = l; line < last && !(name = name_in(line)) && text[line] !~ /[={]$/;) ++line
  if (!name || text[last] !~ /}/) return last
  kind = text[line] ~ /__global__/ ? "kernel" : text[line] ~ /__device__/ ? "device" : \
    text[line] ~ /^struct/ ? "struct" : "host"
  print kind, stage, above, l, line, last, name
  for (++line; kind == "struct" && line < last; ++line) {
    if (text[line] ~ /^ +(__device__|struct) /) {
      print "member", "-", line, line, line, last_of(line), name_in(line)
    }
  }
  return last
}

# The entries of the table that begins in line l. Returns its last line.
function entries(l,   last, first, part, number, name) {
  last = last_of(l)
  for (; l <= last; ++l) {
    if (first && (l == last || text[l] ~ /^ *{[0-9]+, "/)) {
      print "stage", number, first, first, first, l - 1, name
    }
    if (text[l] ~ /^ *{[0-9]+, "/) {
      first = l
      split(text[l], part, /[{,"]/)
      number = part[2]
      name = part[4]
    }
  }
  return last
}

{ text[NR] = $0 }

END {
  for (l = 1; l <= NR; ++l) {
    if (text[l] ~ /^\/\//) {
      if (!above) above = l
      split(text[l], words, " ")
      if (l == above && text[l] ~ /^\/\/ Stage [0-9]+: /) stage = words[3] + 0
      if (l == above && text[l] ~ /^\/\/ Variant [^ ]+ of stage [0-9]+: /) stage = words[6] + 0 ":" words[3]
      continue
    }
    if (text[l] ~ /Stage> stages = {$/) {
      l = entries(l)
    } else if (text[l] ~ /^[A-Za-z_[]/ && text[l] !~ /^(namespace|extern "C")/) {
      l = definition(l, above ? above : l, stage == "" ? "-" : stage)
    }
    above = 0
    stage = ""
  }
}
