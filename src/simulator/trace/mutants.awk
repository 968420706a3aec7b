# Plants every mutant of gemm_steps.cu in one copy of it. Each is active only if the variable
# `mutant` holds its number; 0 is the unchanged program. Lines keep their numbers. Mutants are:
#   without   a barrier, wait, arrival, fence or commit is removed
#   up, down  a barrier changes places with the statement before or after it
#   unchecked a comparison with the size of a matrix always has the result: inside
#   unfenced  a __threadfence is removed
#   phase     the phase that a wait names is the other one
#   count     an mbarrier waits for one arrival more
#   bytes     an arrival does not announce the bytes of copies
#   ticket    an atomicInc becomes a plain increment, or its result is always: the last one
#   reset     an atomicInc counts on instead of starting again; such a mutant launches everything
#             twice, because only the second launch can go wrong
# Kernels whose blocks stay are launched for few SMs, so that a block computes several tiles.
# A stage is named by its number, and another kernel of it by the number and the variant: 16:NAME.
# Variables: list, the file for "number|stages|line|kind|what", one mutant per line. Files: the
# output of src/text/declarations.awk for gemm_steps.cu, and gemm_steps.cu.

function indent(l) { match(text[l], /^ */); return RLENGTH }
function skipped(l) { return text[l] ~ /^ *($|\/\/|#)/ }

function plant(stages, l, kind, what) {
  print ++mutants "|" stages "|" l "|" kind "|" what > list
  return mutants
}

# The first line of the statement at depth d that ends on line l or above; 0 if the block begins
# there.
function begin_of(l, d) {
  while (skipped(l)) --l
  if (indent(l) < d) return 0
  if (text[l] ~ /^ *}/) --l
  while (indent(l) > d || skipped(l)) --l
  return l
}
# From the output of declarations.awk: functions of the GPU and structs, each with its name for
# callers.
NR == FNR {
  if ($1 !~ /^(kernel|device|struct)$/) next
  use[++functions] = "(^|[^A-Za-z_0-9])" $7 ($1 == "struct" ? "<" : "(<[^(]*>)?\\(")
  from[functions] = $4
  to[functions] = $6
  if ($2 != "-") {  # not those of a pre-pass, which are not traced
    stage_names[++count_of_stages] = $2
    used[functions, $2] = 1
  }
  next
}
{ text[FNR] = $0 }

END {
  # Which stages reach which function. Callers come after the functions that they call.
  for (f = functions; f >= 1; --f) {
    for (g = 1; g < f; ++g) {
      for (l = from[f]; l <= to[f]; ++l) {
        if (text[l] !~ use[g]) continue
        for (s = 1; s <= count_of_stages; ++s) {
          if ((f, stage_names[s]) in used) used[g, stage_names[s]] = 1
        }
      }
    }
  }
  for (f = 1; f <= functions; ++f) {
    stages = ""
    for (s = 1; s <= count_of_stages; ++s) {
      if ((f, stage_names[s]) in used) stages = stages " " stage_names[s]
    }
    if (stages != "") mutate(from[f], to[f], substr(stages, 2))
  }
  for (l = 1; l <= FNR; ++l) {
    if (text[l] ~ /^extern const StageTable stage_table\{/) launch(l)
    if (behind[l] != "") sub(/ *\/\/.*/, "", text[l])
    print text[l] behind[l]
  }
}

function mutate(first, last, stages,   l) {
  for (l = first; l <= last; ++l) {
    if (text[l] ~ /^ *(__syncthreads|__pipeline_wait_prior)\(.*\);$/) move(l, stages)
  }
  for (l = first; l <= last; ++l) {
    if (text[l] ~ ASYNCHRONOUS) forget(l, stages)
  }
  for (l = first; l <= last; ++l) {
    if (text[l] ~ /^ *__threadfence\(\);/) unfence(l, stages)
    if (match(text[l], /atomicInc\(.*\);/)) miscount(l, stages)
  }
  for (l = first; l <= last; ++l) {
    if (text[l] !~ /^ *(\/\/|for \(|static_assert)/) uncheck(l, stages)
  }
}

# Calls that order the work of the copy engine and the tensor cores, and commits of cp.async.
BEGIN {
  ASYNCHRONOUS = "(^| )(__pipeline_commit|fence_mbarrier_init|mbarrier_init|mbarrier_arrive" \
    "|mbarrier_arrive_expect_tx|mbarrier_wait|wgmma_fence|wgmma_fence_operand|wgmma_commit_group" \
    "|wgmma_wait_group<[0-9]>|release|bar_arrive|fence_proxy_async|__syncwarp)\\(.*\\);"
}

function forget(l, stages,   call, before, after, barrier) {
  match(text[l], ASYNCHRONOUS)
  before = substr(text[l], 1, RSTART - 1)
  call = substr(text[l], RSTART, RLENGTH)
  after = substr(text[l], RSTART + RLENGTH)
  if (call ~ /^ /) {
    before = before " "
    sub(/^ /, "", call)
  }
  if (call ~ /^mbarrier_init/) {
    text[l] = before call after
    sub(/\);/, " + (mutant == " plant(stages, l, "count", call) "));", text[l])
    return
  }
  before = before "if (mutant != " plant(stages, l, "without", call) ") "
  if (call ~ /STAGES % 2/) {
    sub(/STAGES % 2/, "& ^ (mutant == " plant(stages, l, "phase", call) ")", call)
  }
  if (call ~ /expect_tx/) {
    barrier = call
    gsub(/^[a-z_]*\(|, .*/, "", barrier)
    before = before "if (mutant == " plant(stages, l, "bytes", call) ") mbarrier_arrive(" barrier "); else "
  }
  text[l] = before call after
}

function unfence(l, stages) {
  sub(/__threadfence/, "if (mutant != " plant(stages, l, "unfenced", statement(l)) ") &", text[l])
}

function miscount(l, stages,   call, arguments, shown) {
  call = substr(text[l], RSTART, RLENGTH - 1)
  split(substr(call, 11, length(call) - 11), arguments, ", ")
  shown = "(mutant == " plant(stages, l, "ticket", "++ instead of " call) \
    " ? (*(" arguments[1] "))++ : mutant == " \
    plant(stages, l, "ticket", arguments[2] " instead of " call) " ? " arguments[2]
  resets = resets " || mutant == " plant(stages, l, "reset", "atomicAdd instead of " call)
  shown = shown " : mutant == " mutants " ? atomicAdd(" arguments[1] ", 1u) : " call ")"
  text[l] = substr(text[l], 1, RSTART - 1) shown substr(text[l], RSTART + RLENGTH - 1)
}

function launch(l) {
  if (!sub(/ run,/, " [](Task t) { if (t.variant.sharing == model::Sharing::persistent) t.sms = 2; " \
           "run(t); if (false" resets ") run(t); },", text[l])) exit 1
}

# A line's statement, without its comment.
function statement(l,   s) {
  s = text[l]
  gsub(/^ *(if \(mutant[^)]*\) )?| *\/\/.*$/, "", s)
  return s
}

function move(l, stages,   d, call, n, up, down, end) {
  d = indent(l)
  call = substr(text[l], d + 1)
  n = "mutant != " plant(stages, l, "without", call)
  if (call ~ /^__syncthreads/) {
    up = begin_of(l - 1, d)
    if (up) {
      n = n " && mutant != " plant(stages, l, "up", call " before line " up ": " statement(up))
      while (text[up - 1] ~ /^ *#/) --up
      behind[up - 1] = behind[up - 1] " if (mutant == " mutants ") " call
    }
    end = block_end(l + 1, d)
    n = n " && mutant != " plant(stages, l, "down", call " after line " end ": " statement(end))
    behind[end] = behind[end] " if (mutant == " mutants ") " call
  }
  text[l] = substr(text[l], 1, d) "if (" n ") " call
}

# The end of the statement after a barrier at depth d. If the block ends first: the end of the block
# if it is a loop, else the end of the statement after the block.
function block_end(l, d,   at) {
  while (skipped(l)) ++l
  if (indent(l) >= d) {
    at = l
    if (text[l] ~ /{( *\/\/.*)?$/) {
      do ++l; while (indent(l) > d || skipped(l))
    } else {
      while (text[l] !~ /;( *\/\/.*)?$/) ++l
    }
    return l
  }
  at = l
  do --l; while (indent(l) > indent(at) || skipped(l))
  return text[l] ~ /^ *for / ? at : block_end(at + 1, indent(at))
}

# From right to left, so that the text to the left of a comparison keeps its position.
function uncheck(l, stages,   rest, at, left, begin, depth, c, operator, size, what) {
  rest = text[l]
  sub(/\/\/.*/, "", rest)
  while (match(rest, /.* (<|<=|>=) (rows|cols|M|N|K|k_left)([^A-Za-z_0-9]|$)/)) {
    match(rest, /.* (<|<=|>=) /)
    at = RLENGTH
    size = substr(rest, at + 1)
    match(size, /^[A-Za-z_]+/)
    size = substr(size, 1, RLENGTH)
    left = substr(rest, 1, at)
    operator = left ~ />= $/ ? ">=" : left ~ /<= $/ ? "<=" : "<"
    left = substr(left, 1, at - length(operator) - 2)
    depth = 0
    for (begin = length(left); begin > 0; --begin) {
      c = substr(left, begin, 1)
      if (c == ")") ++depth
      if (c == "(" && --depth < 0) break
      if (c == "&" || c == "|" || c == "=" || (c == "," && depth == 0)) break
      if (substr(left, 1, begin) ~ /return $/) break
    }
    what = substr(text[l], begin + 1, at + length(size) - begin)
    sub(/^ +/, "", what)
    begin = at + length(size) - length(what)
    plant(stages, l, "unchecked", what)
    text[l] = substr(text[l], 1, begin) \
      (operator == ">=" ? "(mutant != " mutants " && " : "(mutant == " mutants " || ") what ")" \
      substr(text[l], begin + length(what) + 1)
    rest = substr(rest, 1, begin)
  }
}
