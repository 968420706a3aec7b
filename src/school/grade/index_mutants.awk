# index_mutants.awk: a solution in which each index can be made wrong at run time.
#
#   awk -v into=FILE -f src/school/grade/index_mutants.awk SOLUTION
#
# An index is blockIdx, threadIdx, or an integer variable computed from them, in the skeleton or in the
# student's region. Wherever a region uses one, FILE has a call of simt::index_mutant
# (src/school/grade/index_mutants.cpp) instead. Prints the mutants, one per line: "KIND NUMBERS NAME: LINE".
# Each mutant changes one use:
#   drop      0 in its place
#   halve     half of it
#   exchange  the other one: x and y, row and col, or two variables that one statement declares
#   wrap      of a block's: modulo two blocks
# or all uses of a name in the same way. No mutant may compute the same as the solution.

BEGIN { period["blockIdx.x"] = period["blockIdx.y"] = 2 }

# Splits `text` into tokens: token[1] to token[tokens], with the blanks before each in blank[].
function split_tokens(text) {
  for (tokens = 0; text != ""; text = substr(text, RLENGTH + 1)) {
    match(text, /^[ \t]*/)
    blank[++tokens] = substr(text, 1, RLENGTH)
    text = substr(text, RLENGTH + 1)
    if (!match(text, /^(\/\/.*|(blockIdx|threadIdx)\.[xy]|[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9A-Za-z_.']*)/) &&
        !match(text, /^([-+*\/%^|&]=|==|<=|>=|!=|\+\+|--|&&|\|\||->|<<|>>)/)) {
      RLENGTH = 1
    }
    token[tokens] = substr(text, 1, RLENGTH)
  }
}

function is_index(name) { return name ~ /^(blockIdx|threadIdx)\./ || name in scope }

# Adds what the line declares as indices: "int NAME = ..., NAME = ..." where an index is used.
function declare(    i, j, first, depth, name, together) {
  for (i = 1; i <= tokens; ++i) {
    if (token[i] !~ /^(int|unsigned|auto|size_t|short)$/) continue
    together = ""
    for (j = i + 1; token[j] ~ /^[A-Za-z_]/ && token[j + 1] == "=" && token[j + 2] != "["; ++j) {
      name = token[j]
      delete scope[name]
      delete period[name]
      first = j + 2
      for (j = first; j <= tokens && (depth > 0 || token[j] !~ /^[,;]$/); ++j) {
        depth += (token[j] ~ /^[(\[{]$/) - (token[j] ~ /^[)\]}]$/)
        # A variable that the head of a loop declares belongs to the loop.
        if (is_index(token[j])) scope[name] = braces + (token[i - 1] == "(")
      }
      if (name in scope) {
        # A block's first row or column.
        if (token[first] ~ /^blockIdx/ && token[first + 1] == "*" && j == first + 3) {
          period[name] = "2 * " token[first + 2]
        }
        partner[name] = together
        if (together) partner[together] = name
        together = name
      }
      if (token[j] != ",") break
    }
    i = j
  }
}

# At a closing brace, forgets what was declared within it.
function leave_scopes(    i, name) {
  for (i = 1; i <= tokens; ++i) {
    braces += (token[i] == "{") - (token[i] == "}")
    if (token[i] != "}") continue
    for (name in scope) if (scope[name] > braces) delete scope[name]
  }
}

function renamed(name, from, to) { return sub(from, to, name) && is_index(name) ? name : "" }

# The index that a student could confuse with this one; none: "".
function exchanged(name,    other) {
  if (other = renamed(name, "\\.x$", ".y")) return other
  if (other = renamed(name, "\\.y$", ".x")) return other
  if (other = renamed(name, "row", "col")) return other
  if (other = renamed(name, "row", "column")) return other
  if (other = renamed(name, "col(umn)?", "row")) return other
  return partner[name] in scope ? partner[name] : ""
}

# The line with its uses of indices replaced.
function mutated(line,    i, head, name, other, text) {
  for (i = 1; i <= tokens; ++i) {
    name = token[i]
    text = text blank[i]
    # The head of a loop after its first part: the condition.
    if (name == "for") head = 1
    if (head && name == ";") head = 2
    if (head == 2 && name == ")" && token[i - 1] != "(") head = 0
    if (head == 2 || !is_index(name) || token[i + 1] ~ /^([-+*\/%^|&]?=|\+\+|--)$/) {
      text = text name
      continue
    }
    other = exchanged(name)
    text = text "simt::index_mutant(" ++uses ", " name ", " (other ? other : name) ", " \
      (name in period ? period[name] : 1) ")"
    used_as[uses] = name
    used_on[uses] = line
    can[uses] = "drop halve" (other ? " exchange" : "") (name in period ? " wrap" : "")
    all[name] = all[name] (all[name] ? "," : "") uses
  }
  return text
}

NR == 1 { print "namespace simt { int index_mutant(unsigned long, int, int, int); }" > into }

{
  if ($0 ~ /\/\/ ---- end of your code ----$/) own = 0
  split_tokens($0)
  print own ? mutated($0) : $0 > into
  declare()
  leave_scopes()
  if ($0 ~ /\/\/ ---- your code ----$/) own = 1
}

function print_mutants(numbers, kinds, what,    n, kind, i) {
  sub(/: +/, ": ", what)
  n = split(kinds, kind, " ")
  for (i = 1; i <= n; ++i) print kind[i] " " numbers " " what
}

END {
  for (i = 1; i <= uses; ++i) print_mutants(i, can[i], used_as[i] ": " used_on[i])
  for (name in all) {
    if (all[name] ~ /,/) print_mutants(all[name], can[all[name] + 0], name ": everywhere")
  }
}
