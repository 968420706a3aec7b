# Counts the instructions of every kernel in the output of cuobjdump -sass or nvdisasm -c, and of
# its main loop. Prints, for each kernel, lines of
#   kernel<TAB>part<TAB>counts
# with the kernel's mangled name and the counts in the order of kinds below. The parts:
#   whole  every instruction of the kernel
#   loop   one iteration of the main loop: the loop with the most math, or, if another loop encloses
#          that, the enclosing loop without it. Of loops with the same math it is the one that loads
#          from global memory: the last tiles of a pipeline have a loop of their own.
#   inner  one iteration of the loop with the most math if another loop encloses it, else zeros
# If blocks compute several tiles, the loop over these encloses the loop over K, more than once: for
# the last K tile, too. So of tensor-core loops, a loop within that has at least half of the mma is
# the main loop, and what encloses it is not looked at.
# A loop is the code between a backward branch and its target, unless the kernel ends between them:
# the compiler puts code that seldom runs after the end, and from there it branches back. If there
# are several paths through an iteration, the shortest one that loads from global memory counts: that
# is the path of a block inside the matrices.
#
# Math is every instruction that multiplies and adds, on any pipe: FFMA, DFMA, HFMA2 and IDP on the
# lanes, and those of the tensor cores (HMMA, HGMMA and so on: `mma`). A warp's mma makes hundreds of
# products, so it weighs as much as 64 of the others, and a loop that only scales the results cannot
# outweigh it. IMAD does not count as math, because compilers compute addresses with it.
#
# After the kinds come seven more counts, six of them of waiting. The first four: how often a warp waits for loads from
# global memory, the sum over these waits of the instructions between the load and the first use of
# its result, and the same two for shared memory. Loads that were issued before the wait began arrive
# with it. For a loop, they are those of an iteration that follows another.
#
# The fifth: the cycles, beyond one for each instruction, that the compiler makes a warp wait until
# its next instruction. It writes them into each instruction, as bits 41 to 44 of the upper half of
# its 128 bits (Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018,
# section 2.1). Without these bits in the input there are none.
#
# The sixth: the cycles that instructions wait for registers. The register file has two banks, of the
# even and the odd registers. Each reads one register of a warp per cycle, and an instruction has
# three cycles for its reads; one that would need more waits. A source marked .reuse stays beside its
# bank, and the next instruction that has it in the same place does not read it. Loads, stores and
# other instructions without a fixed latency read their registers later and are left out (Huerta et
# al., Analyzing Modern NVIDIA GPU Cores, 2025, arXiv:2503.20481, section 5.3, for sm_86).
#
# The last count is no wait: the multiply-adds of the tensor cores' instructions.

BEGIN {
  count_of_kinds = split("ldg32 ldg64 ldg128 lds32 lds64 lds128 ldsm1 ldsm2 ldsm4 sts32 sts64 sts128 " \
                         "stg32 stg64 stg128 ldgsts32 ldgsts64 ldgsts128 ffma mma bar other", kinds, " ")
}

function number_of_hex(digits, i, value) {
  for (i = 1; i <= length(digits); ++i) {
    value = value * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
  }
  return value
}

function kind_of(opcode, name) {
  if (opcode ~ /^FFMA/) return "ffma"
  if (opcode ~ /^[A-Z]*MMA/) return "mma"
  if (opcode ~ /^BAR\./ && opcode !~ /ARV/) return "bar"
  name = tolower(opcode)
  sub(/\..*/, "", name)
  if (name == "ldsm") return name (opcode ~ /\.4$/ ? 4 : opcode ~ /\.2$/ ? 2 : 1)
  if (name !~ /^(ldg|lds|sts|stg|ldgsts)$/) return "other"
  return name (opcode ~ /\.128/ ? 128 : opcode ~ /\.64/ ? 64 : 32)
}

# The multiply-adds of one warp: HMMA.1688 is 16 x 8 x 8, and HGMMA.64x128x8 is shared by four warps.
# 0 where the opcode does not say a shape of the two kinds.
function products_of(opcode, shape, m, size) {
  if (kind_of(opcode) != "mma" || !match(opcode, /\.[0-9][0-9x]+/)) return 0
  shape = substr(opcode, RSTART + 1, RLENGTH - 1)
  if (split(shape, size, "x") == 3) return size[1] * size[2] * size[3] / 4
  m = shape ~ /^16/ ? 16 : 8
  return m * substr(shape, length(m) + 1, 1) * substr(shape, length(m) + 2)
}

# `text` is the whole instruction. The compiler moves constants by HFMA2 with zeros.
function weight_of(opcode, text) {
  if (kind_of(opcode) == "mma") return 64
  if (opcode ~ /^HFMA2/) return text !~ /-RZ, RZ/
  return opcode ~ /^(FFMA|DFMA|IDP)/
}

# The cycles until the same warp may issue its next instruction, from the upper half of an
# instruction: 0x000fe200078f40ff is 1.
function stall_of(upper) {
  return int(digit(upper, 10) / 2) + 8 * (digit(upper, 11) % 2)
}

# The value of a hexadecimal digit, from the right; `number` has 16 of them after 0x.
function digit(number, place) {
  return index("0123456789abcdef", substr(number, 18 - place, 1)) - 1
}

/^[ \t]*Function : / { finish(); kernel = $NF }
/^\.text\..*:/ { finish(); kernel = $1; gsub(/^\.text\.|:$/, "", kernel) }
/^\.L_.*:/ { label = $1; sub(/:$/, "", label); place[label] = instructions }

# An instruction, possibly after a predicate: /*0100*/ @!P0 BRA 0xf70 ;
/^[ \t]*\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]+\*\/[ \t]+[@A-Z]/ {
  address = $1
  gsub(/[\/*]/, "", address)
  place["0x" number_of_hex(address)] = instructions
  predicated = $2 ~ /^@/
  opcode = predicated ? $3 : $2
  sub(/;$/, "", opcode)
  operation[instructions] = opcode
  kind[instructions] = $2 == "@!PT" ? "other" : kind_of(opcode)  # @!PT: never executed
  math[instructions] = $2 == "@!PT" ? 0 : weight_of(opcode, $0)
  products[instructions] = $2 == "@!PT" ? 0 : products_of(opcode)
  operands[instructions] = substr($0, index($0, opcode) + length(opcode))
  sub(/;.*/, "", operands[instructions])
  target[instructions] = ""
  if (opcode ~ /^BRA/) {
    if (match($0, /`\(\.L_[^)]*\)/)) {
      target[instructions] = substr($0, RSTART + 2, RLENGTH - 3)
    } else if (match($0, /[ ,]0x[0-9a-f]+/)) {
      target[instructions] = "0x" number_of_hex(substr($0, RSTART + 3, RLENGTH - 3))
    }
    conditional[instructions] = predicated || $0 ~ /BRA[.A-Z]* !?U?P[0-9]/
  }
  stalls[instructions] = 0
  ends_before[instructions + 1] = ends_before[instructions] + (opcode == "EXIT" && !predicated)
  ++instructions
}

# The upper half of the instruction before.
/^[ \t]*\/\* 0x[0-9a-f]+ \*\/$/ { stalls[instructions - 1] = max(0, stall_of($2) - 1) }

END { finish() }

function math_between(first, last, i, sum) {
  for (i = first; i <= last; ++i) sum += math[i]
  return sum + 0
}

function mma_between(first, last, i, sum) {
  for (i = first; i <= last; ++i) sum += kind[i] == "mma"
  return sum + 0
}

# Whether that instruction is a branch that ends a loop.
function is_loop(i, start) {
  if (target[i] == "" || !(target[i] in place)) return 0
  start = place[target[i]]
  return start < i && ends_before[start] + 0 == ends_before[i] + 0
}

# Whether the loop loads from global memory.
function copies_between(first, last, i) {
  for (i = first; i <= last; ++i) if (kind[i] ~ /^ldg/) return 1
  return 0
}

function max(a, b) {
  return a > b ? a : b
}

# Prints the counts of the instructions from `first` to `last`, but not from `but_first` to `but_last`;
# with `only_way`, of those that find_way() marked. They are taken[1] to taken[all].
function report(part, first, last, but_first, but_last, only_way,
                i, k, all, taken, sum, stalled, multiplied, line) {
  for (i = first; i <= last; ++i) {
    if (i >= but_first && i <= but_last || only_way && !on_way[i]) continue
    taken[++all] = i
    ++sum[kind[i]]
    stalled += stalls[i]
    multiplied += products[i]
  }
  line = kernel "\t" part "\t"
  for (k = 1; k <= count_of_kinds; ++k) line = line sum[kinds[k]] + 0 ", "
  print line waits(taken, all, part != "whole") ", " stalled + 0 ", " \
        bank_waits(taken, all, part != "whole") ", " multiplied + 0
}

# Whether an instruction reads its registers right when it is issued. Those of memory, of the special
# functions and of the tensor cores do not, nor do branches and barriers.
function reads_at_issue(i) {
  return operation[i] !~ /^(LD|ST|AT|RED|MUFU|[A-Z]*MMA|D|F2|I2|S2|BAR|B[RS]|DEPBAR|EXIT|SHFL|R2UR)/
}

# The cycles that a part's instructions wait for registers, as the heading says. `again` as in waits.
function bank_waits(taken, all, again,
                    i, n, pass, count, source, s, bank, r, kept, reads, busy, waited, wait) {
  for (pass = 1; pass <= 1 + again; ++pass) {
    waited = 0
    for (n = 1; n <= all; ++n) {
      i = taken[n]
      reads[0] = reads[1] = 0
      count = reads_at_issue(i) ? split(operands[i], source, ",") : 0
      # The first operand is where the result goes, unless that is a predicate.
      for (s = source[1] ~ /^ *R[0-9]/ ? 2 : 1; s <= count; ++s) {
        if (!match(source[s], /(^|[^A-Z])R[0-9]+/)) continue
        r = substr(source[s], RSTART, RLENGTH)
        sub(/.*R/, "", r)
        bank = r % 2
        if (kept[s, bank] != r) ++reads[bank]
        kept[s, bank] = source[s] ~ /\.reuse/ ? r : ""
      }
      wait = max(0, max(busy[0] + reads[0], busy[1] + reads[1]) - 3)
      waited += wait
      for (bank = 0; bank <= 1; ++bank) {
        busy[bank] = max(0, busy[bank] + reads[bank] - wait - 1)
      }
    }
  }
  return waited + 0
}

# The memory that a load of this kind reads into registers.
function memory_of(kind) {
  return kind ~ /^ldg[0-9]/ ? "global" : kind ~ /^lds/ ? "shared" : ""
}

# The waits of a part, as the heading says. `again`: runs it twice and counts the second time.
function waits(taken, all, again,
               i, t, pass, now, rest, r, n, memory, issued, loaded_from, began, times, ahead) {
  for (pass = 1; pass <= 1 + again; ++pass) {
    clear(times)
    clear(ahead)
    for (t = 1; t <= all; ++t) {
      i = taken[t]
      ++now
      for (rest = " " operands[i]; match(rest, /[^A-Z]R[0-9]+/); rest = substr(rest, RSTART + RLENGTH)) {
        r = substr(rest, RSTART + 2, RLENGTH - 2)
        if (!(r in issued)) continue
        memory = loaded_from[r]
        if (issued[r] >= began[memory] + 0) {
          ++times[memory]
          ahead[memory] += now - issued[r] - 1
          began[memory] = now
        }
        delete issued[r]
      }
      memory = memory_of(kind[i])
      if (memory == "" || !match(operands[i], /[^A-Z]R[0-9]+/)) continue
      r = substr(operands[i], RSTART + 2, RLENGTH - 2) + 0
      for (n = kind[i] ~ /128|ldsm4/ ? 4 : kind[i] ~ /64|ldsm2/ ? 2 : 1; n > 0; --n) {
        issued[r + n - 1] = now
        loaded_from[r + n - 1] = memory
      }
    }
  }
  return times["global"] + 0 ", " ahead["global"] + 0 ", " times["shared"] + 0 ", " ahead["shared"] + 0
}

# Whether `to` can be reached by a shorter path, with or without a load on the way.
function reach(to, loaded, steps, from) {
  if ((to, loaded) in fewest && fewest[to, loaded] <= steps) return
  fewest[to, loaded] = steps
  came_from[to, loaded] = from
}

# Marks the instructions of the shortest path from `first` to the backward branch at `last`.
function find_way(first, last, i, loaded, after, to, at) {
  reach(first, 0, 0, "")
  for (i = first; i < last; ++i) {
    for (loaded = 0; loaded <= 1; ++loaded) {
      if (!((i, loaded) in fewest)) continue
      after = loaded || kind[i] ~ /^ldg/
      to = target[i] == "" ? -1 : place[target[i]]
      if (to > i && to <= last) reach(to, after, fewest[i, loaded] + 1, i SUBSEP loaded)
      if (to <= i || conditional[i]) reach(i + 1, after, fewest[i, loaded] + 1, i SUBSEP loaded)
    }
  }
  for (at = last SUBSEP ((last, 1) in fewest); at != ""; at = came_from[at]) {
    on_way[substr(at, 1, index(at, SUBSEP) - 1) + 0] = 1
  }
}

function clear(array, key) {
  for (key in array) delete array[key]
}

function finish(i, start, work, best, better, over_tiles, first, last, outer_first, outer_last) {
  if (kernel != "" && instructions > 0) {
    first = outer_first = -1
    for (i = 0; i < instructions; ++i) {
      if (!is_loop(i)) continue
      start = place[target[i]]
      work = math_between(start, i)
      if (start > last) better = copies_between(start, i) > copies_between(first, last)
      else better = i - start < last - first
      if (work > best || work == best && better) {
        best = work
        first = start
        last = i
      }
    }
    over_tiles = 0
    for (i = 0; first >= 0 && i < instructions; ++i) {
      if (!is_loop(i)) continue
      start = place[target[i]]
      if (start < first || i >= last || mma_between(first, last) == 0) continue
      if (2 * mma_between(start, i) < mma_between(first, last)) continue
      first = start
      last = i
      over_tiles = 1
    }
    for (i = 0; first >= 0 && !over_tiles && i < instructions; ++i) {
      if (!is_loop(i)) continue
      start = place[target[i]]
      if (start > first || i <= last) continue
      if (outer_first < 0 || i - start < outer_last - outer_first) {
        outer_first = start
        outer_last = i
      }
    }
    report("whole", 0, instructions - 1, -1, -1, 0)
    if (outer_first >= 0) {
      find_way(outer_first, outer_last)
      report("loop", outer_first, outer_last, first, last, 1)
      report("inner", first, last, -1, -1, 1)
    } else if (first >= 0) {
      find_way(first, last)
      report("loop", first, last, -1, -1, 1)
      report("inner", 0, -1, -1, -1, 1)
    }
  }
  clear(place)
  clear(kind)
  clear(math)
  clear(operands)
  clear(products)
  clear(operation)
  clear(stalls)
  clear(ends_before)
  clear(target)
  clear(conditional)
  clear(fewest)
  clear(came_from)
  clear(on_way)
  instructions = 0
}
