# blame.awk: whether the line that a message names has to do with the mistake.
#
#   diff ANSWER SOLUTION | awk -v hint=TEXT -f src/school/grade/blame.awk - ANSWER
#
# TEXT is the grader's message at HINT=2. At least one of the lines of ANSWER that it names must
# - be changed by the solution,
# - or use a name that is declared or assigned on a changed line, on either side, or an index that is
#   computed from such a name, or a variable that is assigned in a changed loop or condition,
# - or be in such a condition or loop, or after a guard that returns, or between two braces of which
#   the solution moves one,
# - or lack what orders threads and copies, which the solution adds.
# If none does, prints the lines that the message names.

BEGIN { all = hint }

function names_in(text,    rest, name) {
  sub(/\/\/.*/, "", text)
  rest = text
  while (match(rest, /[A-Za-z_][A-Za-z0-9_]*(\[[^=;]*\])* *[-+*^|]?=[^=]/)) {
    name = substr(rest, RSTART, RLENGTH)
    sub(/[^A-Za-z0-9_].*/, "", name)
    declared[name] = 1
    rest = substr(rest, RSTART + RLENGTH)
  }
  if (text ~ /__shared__/) {
    rest = text
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*\[/)) {
      declared[substr(rest, RSTART, RLENGTH - 1)] = 1
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
}

# Whether the text contains a declared name.
function uses_a_name(text,    name) {
  for (name in declared) {
    if (text ~ "(^|[^A-Za-z0-9_])" name "([^A-Za-z0-9_]|$)") return 1
  }
  return 0
}

function indent(text) {
  match(text, /^ */)
  return RLENGTH
}

function is_control(text) { return text ~ /^ *(}? *else|if|for|while)( |\(|$)/ }

# Whether line n is within the control statement of that indentation before line `at`.
function stands_under(at, depth, n,    i) {
  if (n < at) return 0
  for (i = at; i <= n; ++i) {
    if (line[i] ~ /[^ ]/ && indent(line[i]) <= depth) return 0
  }
  return 1
}

# The diff: which lines of the answer are changed, and how.
NR == FNR && /^[0-9]/ {
  split($0, of, /[acd]/)
  split(of[1], range, ",")
  first = range[1]
  last = range[2] ? range[2] : first
  if ($0 ~ /a/) first = last + 1
  else for (i = first; i <= last; ++i) changed[i] = 1
  next
}
NR == FNR && /^[<>]/ {
  text = substr($0, 3)
  names_in(text)
  if (text ~ /__syncthreads|__pipeline_|start_copy|bar(rier)?_/) orders = 1
  if (text ~ /^ *}$/) {
    if (!braces++) first_brace = first
    last_brace = last
  }
  # The code after a line of the answer also comes after everything that was changed with that line.
  if (is_control(text)) {
    control[++controls] = last + 1
    depth[controls] = indent(text)
    if (text ~ /return;/) returns[controls] = 1
  }
  next
}
NR == FNR { next }

{ line[FNR] = $0 }

END {
  # What is assigned within such a statement.
  for (c = 1; c <= controls; ++c) {
    for (n = control[c]; n <= FNR && stands_under(control[c], depth[c], n); ++n) names_in(line[n])
  }
  # Indices that are computed from such names, to any depth.
  do {
    known = 0
    for (name in declared) ++known
    for (n = 1; n <= FNR; ++n) {
      if (line[n] ~ /(^|[ (])int .*=/ && uses_a_name(line[n])) names_in(line[n])
    }
    for (name in declared) --known
  } while (known < 0)
  # A barrier that is given what the solution computes differently, such as a parity.
  for (n = 1; n <= FNR; ++n) if (line[n] ~ /mbarrier_/ && uses_a_name(line[n])) orders = 1
  while (match(hint, /lines? [0-9]+((, | and )[0-9]+)*/)) {
    numbers = substr(hint, RSTART + 5, RLENGTH - 5)
    hint = substr(hint, RSTART + RLENGTH)
    named = named " " numbers
    gsub(/[^0-9]+/, " ", numbers)
    count = split(numbers, number, " ")
    for (i = 1; i <= count; ++i) {
      n = number[i]
      if (n in changed) exit 0
      if (uses_a_name(line[n])) exit 0
      for (c = 1; c <= controls; ++c) {
        if (stands_under(control[c], depth[c], n) || (c in returns && n >= control[c])) exit 0
      }
      if (braces > 1 && n >= first_brace && n <= last_brace) exit 0
      if (orders && all ~ /race on|barrier|copies [A-Z][(]|cp\.async|for the copy|without a fence/) exit 0
    }
  }
  if (named) print named
}
