// --explain's sections about counts: of a thread, of warps, of an SM, and the ceilings they set.
#include <algorithm>
#include <climits>
#include <cmath>
#include <string_view>

#include "lab/run.h"
#include "show/report/explain/explain.h"
#include "show/report/quantities.h"
#include "show/report/words.h"
#include "text/numbers.h"

namespace report {

namespace {

std::string coalescing(const model::Traffic& traffic) {
  if (traffic.pieces == traffic.ideal_pieces) {
    return "Coalesced: the bytes that the lanes want fit into no fewer sectors.";
  }
  if (traffic.uncoalesced == 0) {
    return "Coalesced: lanes share sectors, and the ideal counts the bytes that they share once.";
  }
  const double ratio =
      static_cast<double>(traffic.pieces) /
      static_cast<double>(std::max<std::int64_t>(traffic.pieces - traffic.uncoalesced, 1));
  return text::printed(
      ratio < 1.25 ? "Nearly coalesced: %.2f times the sectors of neighbouring, aligned addresses."
                   : "Not coalesced: %.2f times the sectors of neighbouring addresses; most bytes "
                     "in them are unused.",
      ratio);
}

// `copies` is the part of `traffic` that cp.async makes.
std::string conflicts(const model::Traffic& traffic, const model::Traffic& copies) {
  if (traffic.bank_conflicts > 0 && traffic.bank_conflicts == copies.bank_conflicts) {
    return "Conflicts of cp.async alone: lanes of a copy that read from the same bank, of "
           "different "
           "lines, or write to the same bank wait for each other. No other store has a conflict.";
  }
  if (traffic.bank_conflicts == 0) {
    return "Conflict-free: no two lanes that are served together want different words of a bank.";
  }
  const double share = 100.0 * static_cast<double>(traffic.bank_conflicts) /
                       static_cast<double>(std::max<std::int64_t>(traffic.pieces, 1));
  return text::printed(
      "Bank conflicts: %.0f %% of the wavefronts are repeats, because lanes want different "
      "words of one bank.",
      share);
}

// A number and how it is written, in that many columns: rounded where they are too few.
std::string fitted(const std::string& written, double value, int columns) {
  for (const std::string& text : {written, text::brief(value)}) {
    if (text::display_width(text) <= columns) return text;
  }
  return text::printed("%.3g", value);
}

// The part of the counts that is about warps.
std::string requests_of_warps(const model::Counts& counts, text::Style style) {
  const bool narrow = text::report_width() < text::kReportWidth;
  const std::vector<int> widths =
      narrow ? std::vector{1, -13, 12, 15, 11, 7, 14} : std::vector{1, -13, 16, 16, 14, 14, 14};
  const struct {
    const char* what;
    const model::Traffic& traffic;
    bool shared;
  } kinds[] = {
      {"GMEM loads", counts.gmem_loads, false},
      {"GMEM stores", counts.gmem_stores, false},
      {"SMEM loads", counts.smem_loads, true},
      {"SMEM stores", counts.smem_stores, true}};

  std::string text = heading(
      text::printed(
          "What its warp asks of memory (a request is one instruction of %d threads)",
          counts.warp.lanes),
      style);
  text += text::in_columns(
      {"", "", "requests", text::printed("%d-byte sectors", counts.warp.sector_bytes),
       "per request", "ideal"},
      widths);
  const auto cell = [&](std::int64_t count, int column) {
    return fitted(text::grouped(count), static_cast<double>(count), widths[column]);
  };
  bool in_shared = false;
  for (const auto& [what, traffic, shared] : kinds) {
    if (traffic.requests == 0) continue;
    if (shared && !std::exchange(in_shared, true)) {
      text += text::in_columns(
          {"", "", "requests", "wavefronts", "per request", "ideal", "bank conflicts"}, widths);
    }
    const double ideal =
        static_cast<double>(traffic.ideal_pieces) / static_cast<double>(traffic.requests);
    text += text::in_columns(
        {"", what, cell(traffic.requests, 2), cell(traffic.pieces, 3),
         text::printed("%.2f", lab::pieces_per_request(traffic)), text::printed("%.2f", ideal),
         shared ? cell(traffic.bank_conflicts, 6) : ""},
        widths);
    const bool copies = &traffic == &counts.smem_stores;
    text += verdict(
        shared ? conflicts(traffic, copies ? counts.async_smem : model::Traffic{})
               : coalescing(traffic));
  }
  if (counts.async_gmem.requests > 0) {
    text += fact(
        "cp.async", text::grouped(counts.async_gmem.requests) +
                        " of these requests: " + text::grouped(counts.async_gmem.pieces) +
                        " sectors from GMEM, " + text::grouped(counts.async_smem.pieces) +
                        " wavefronts into SMEM, past the registers");
  }
  if (counts.mmas > 0) {
    text += fact(
        "tensor cores", text::grouped(counts.mmas) + " instructions of a warp, each of " +
                            text::grouped(counts.mma_products / counts.mmas) +
                            text::printed(" multiply-adds; an FFMA makes %d", counts.warp.lanes));
  }
  if (!lab::is_total(counts))
    text += "  Counted in the traced blocks only; --trace all gives the totals of the launch.\n";
  return text;
}

// Why a traced thread may do other than the formula says, as far as the shape tells.
std::string why_they_differ(const Known& known) {
  const lab::Run& run = known.run;
  const model::Variant& v = *known.row.variant;
  if (run.M < v.BM || run.N < v.BN) {
    return "C is smaller than a block's tile: no block is an interior one, so no thread does all "
           "that the formula counts.";
  }
  const model::ShareOut& shares = *known.shares;
  if (shares.slices > 1 && shares.whole > 0) {
    return "Some tiles of C are whole and others are cut along K: the formula counts for a thread "
           "with a whole tile. A thread that adds up slices stores more, and one with a slice "
           "alone loads less.";
  }
  if (shares.slices > 1 && run.K % (shares.depth * v.BK) != 0) {
    return "The slices of a tile differ in length: the formula counts for a long slice whose block "
           "also adds up, and here the block with the short one did that.";
  }
  if (v.BK > 0 && run.K % v.BK != 0) {
    return text::printed(
        "K = %d is not a multiple of BK = %d: in the last tile some threads have nothing to copy.",
        run.K, v.BK);
  }
  return "The shape gives no reason: the kernel does not do what the stage table says, or no "
         "interior block was traced.";
}

// Of all accesses, or only how many loads there are.
std::string counts_per_thread(const Known& known, text::Style style, bool only_loads) {
  const int wide = text::report_width() < text::kReportWidth ? 8 : 12;
  const auto line = [&](const text::Cells& cells) {
    return text::in_columns(
        cells, {1, -11, -8, std::max(wide, 10), wide, wide, wide, wide + 2, -1});
  };
  const auto cell = [&](const std::optional<double>& value) {
    return value ? fitted(text::exact(*value), *value, wide) : "-";
  };
  const bool predictable = known.row.stage != nullptr;
  std::string text =
      line({"", "", "", predictable ? "predicted," : "", "traced:", "", "", "traced max"}) +
      line({"", "", "", predictable ? "interior" : "", "min", "mean", "max", "per result"});
  bool all_agree = true;
  for (const PerThreadCount& count : kPerThread) {
    const std::string path = count.path;
    if (only_loads && !path.ends_with("_loads_per_thread")) continue;
    const auto prediction = number(path + ".predicted", known), most = number(path + ".max", known);
    const bool is_none = prediction.value_or(0) == 0 && most.value_or(0) == 0;
    if (is_none && count.formula == &model::Predicted::async_copies) continue;
    const bool same = !predictable || !most || prediction == most;
    all_agree = all_agree && same;
    const std::string mark = !predictable || !most ? ""
                             : same ? " " + text::coloured("=", text::Colour::green, style)
                                    : " " + text::coloured("DIFFERS", text::Colour::red, style);
    auto each = most;
    if (each) *each /= lab::results_per_thread(*known.row.variant);
    text += line(
        {"", count.what, count.unit, predictable ? cell(prediction) : "",
         cell(number(path + ".min", known)), cell(number(path + ".mean", known)), cell(most),
         cell(each), mark});
  }
  if (!only_loads) {
    text += fact(
        "accesses", "as written, of any width; a cp.async is both a GMEM load and an SMEM store");
  }
  if (!all_agree) text += fact("differs", why_they_differ(known));
  return text;
}

std::string formulas(const Known& known, text::Style style) {
  const std::vector<model::Named> names = formula_names(known.run, known.row);
  std::string text = heading("Where the predicted counts come from", style);
  std::string_view before;
  for (const PerThreadCount& count : kPerThread) {
    const char* formula = formulas_of(known.row).*count.formula;
    const std::string_view formula_text = formula ? formula : "0";
    // Where every access is one float, the floats' formula is the accesses' again.
    const bool floats = *count.what == '\0';
    const bool repeated_formula = floats && formula_text == before;
    before = formula_text;
    if (repeated_formula || formula_text == "0") continue;
    const std::string numbers = with_numbers(formula_text, names);
    const std::string value = text::exact((*known.predicted)[&count - kPerThread]);
    const std::string worked_out = "= " + (numbers != value ? numbers + " = " : "") + value;
    const std::string in_one = std::string(formula_text) + " " + worked_out;
    const char* label = floats ? "  in floats" : count.what;
    if (kIndent + kLabel + text::display_width(in_one) <= text::report_width()) {
      text += fact(label, in_one);
    } else {
      text += fact(label, formula_text) + fact("", worked_out);
    }
  }
  return text;
}

// What one thread does, as a table of Markdown.
std::string counts_table(const Known& known) {
  const PredictedCounts expected = known.predicted.value_or(PredictedCounts{});
  std::string text =
      "\nWhat one thread does\n\n"
      "| per thread | unit | formula | predicted | traced min | traced max |\n"
      "|---|---|---|---:|---:|---:|\n";
  std::string_view what;
  for (const PerThreadCount& count : kPerThread) {
    if (*count.what != '\0') what = count.what;
    const model::PerThread& traced = count.traced(*known.row.counts);
    const double of_formula = expected[&count - kPerThread];
    if (of_formula == 0 && traced.max == 0) continue;
    const char* formula = formulas_of(known.row).*count.formula;
    text += "| " + std::string(what) + " | " + count.unit + " | `" + (formula ? formula : "0") +
            "` | " + text::exact(of_formula) + " | " + text::grouped(traced.min) + " | " +
            text::grouped(traced.max) + " |\n";
  }
  return text;
}

}  // namespace

SectionParts explain_thread(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (!row.variant || !(row.stage || (row.launch && row.counts))) return {};
  if (row.stage && format == flags::Format::markdown && row.counts) {
    return {{counts_table(known), SectionPart::table}};
  }
  return {
      {heading("What one thread does", style) +
       counts_per_thread(known, style, /*only_loads=*/false)}};
}

SectionParts explain_loads(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (!row.variant || !row.counts) return {};
  return {
      {heading("Loads, stores and copies, by line", style) + accesses_by_line(row, style) +
       counts_per_thread(known, style, /*only_loads=*/true)}};
}

SectionParts explain_counts(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  SectionParts parts = explain_thread(explained);
  if (row.stage && row.variant && !whole) parts.push_back({formulas(known, style)});
  if (row.variant && row.counts) parts.push_back({requests_of_warps(*row.counts, style)});
  return parts;
}

namespace {

// What one resource allows, and how that comes about, a step a line.
struct Limit {
  const char* name;
  std::vector<std::string> steps;
  int blocks;  // INT_MAX: as many as you like
};

Limit by_smem(const model::Gpu& gpu, const model::Occupancy& o) {
  Limit limit{"shared memory", {}, o.blocks_by_smem};
  const int used = o.resources.smem_bytes_per_block;
  const int reserved = gpu.smem_reserved_bytes_per_block;
  const int unit = gpu.smem_granularity_bytes, taken = o.smem_bytes_taken;
  if (used <= 0) {
    limit.steps = {"the kernel uses none"};
  } else if (used > gpu.smem_bytes_per_block) {
    limit.steps = {
        text::grouped(used) +
        " B is more than one block may have: " + text::grouped(gpu.smem_bytes_per_block) + " B"};
  } else {
    std::string bytes = text::grouped(used) + " B";
    if (reserved > 0) bytes += " + " + text::grouped(reserved) + " B for the system";
    if (taken != used + reserved) bytes += text::printed(", rounded up to a multiple of %d", unit);
    if (taken != used) bytes += ": " + text::grouped(taken) + " B";
    limit.steps = {
        bytes, "floor(" + text::grouped(gpu.smem_bytes_per_sm) + " B per SM / " +
                   text::grouped(taken) + " B per block)"};
  }
  return limit;
}

Limit by_registers(const model::Gpu& gpu, const model::Occupancy& o) {
  const int lanes = gpu.warp.lanes, taken = o.registers_taken;
  Limit limit{
      "registers", {"not known without nvcc; --registers N states them"}, o.blocks_by_registers};
  if (taken == 0) return limit;
  const int used = o.resources.registers_per_thread * lanes;
  std::string registers =
      text::printed("%d x %d lanes = ", o.resources.registers_per_thread, lanes) +
      text::grouped(used) + " per warp";
  if (taken != used) registers += ", rounded up to " + text::grouped(taken);
  const int parts = gpu.sub_partitions_per_sm;
  const std::string warps_per_part = "floor(" + text::grouped(gpu.registers_per_sm) +
                                     (parts > 1 ? text::printed(" / %d", parts) : "") + " / " +
                                     text::grouped(taken) + ")";
  limit.steps = {
      registers, "floor(" + warps_per_part + (parts > 1 ? text::printed(" * %d", parts) : "") +
                     text::printed(" / %d warps per block)", o.warps_per_block)};
  return limit;
}

}  // namespace

SectionParts explain_occupancy(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (!row.occupancy) return {};
  const int steps = text::report_width() - 42;
  const model::Gpu& gpu = run.gpu;
  const model::Occupancy& o = *row.occupancy;
  const Limit limits[] = {
      {"threads",
       {text::printed(
           "floor(%s threads per SM / %d / %d warps per block)",
           text::grouped(gpu.threads_per_sm).c_str(), gpu.warp.lanes, o.warps_per_block)},
       o.blocks_by_threads},
      {"blocks", {"the most that an SM can manage at a time"}, o.blocks_by_blocks},
      by_smem(gpu, o),
      by_registers(gpu, o)};

  std::string text = heading("How many blocks an SM of " + gpu.name + " holds", style);
  std::string limited_by;
  for (const Limit& limit : limits) {
    const bool least = limit.blocks == o.blocks_per_sm;
    if (least) limited_by += (limited_by.empty() ? "" : " and ") + std::string(limit.name);
    const std::string blocks =
        limit.blocks == INT_MAX
            ? "no limit"
            : text::printed("= %3d block%s", limit.blocks, limit.blocks == 1 ? "" : "s");
    std::vector<std::string> lines;
    for (const std::string& step : limit.steps) {
      for (const std::string& line : text::wrapped(step, steps)) lines.push_back(line);
    }
    for (const std::string& step : lines) {
      text += text::in_columns(
          {"", &step == &lines.front() ? limit.name : "", step,
           &step == &lines.back() ? blocks + (least ? " <- least" : "") : ""},
          {1, 1 - kLabel, -steps, 0});
    }
  }
  text += fact(
      "occupancy",
      text::printed(
          "%d block%s x %d warps = %d of the %d warps that an SM can hold: %.2f %%",
          o.blocks_per_sm, o.blocks_per_sm == 1 ? "" : "s", o.warps_per_block,
          o.blocks_per_sm * o.warps_per_block, gpu.threads_per_sm / gpu.warp.lanes, o.percent));
  if (const int gone = row.variant ? model::warps_that_return(*row.variant) : 0; gone > 0) {
    text += fact(
        "", text::printed(
                "%d of a block's warps return at once, and %.2f %% stay", gone,
                o.percent_of(o.warps_per_block - gone)));
  }
  text += fact("limiter", limited_by);
  if (row.variant && o.blocks_per_sm > 0) {
    text += fact(
        "waves", text::grouped(*known.blocks) + text::printed(
                                                    " blocks / (%d per SM x %d SMs) = %.2f",
                                                    o.blocks_per_sm, gpu.sms, *known.waves));
  }
  return {{text}};
}

namespace {

std::string as_compiled(const Known& known, text::Style style) {
  if (!known.loop) return "";
  const auto& [products, loads, wavefronts, all, by_width] = *known.loop;
  const model::Traffic& traced = known.traced->smem_loads;
  const auto number = [](double value) { return text::grouped(std::llround(value)); };
  const int wide = text::report_width() < text::kReportWidth ? 11 : 14;
  const auto columns = [&](const char* what, const std::string& written, const std::string& made,
                           const std::string& note) {
    const std::string cells =
        text::printed("  %-22s %*s %*s  ", what, wide, written.c_str(), wide, made.c_str());
    return text::labelled(cells, text::display_width(cells), note);
  };
  const auto line = [&](const char* what, const auto& of, const std::string& note = "") {
    return columns(what, number(of.written), number(of.compiled), note);
  };
  std::string widths;
  for (const auto& [name, each] : by_width) {
    widths += (widths.empty() ? "" : " + ") + number(each) + " " + name;
  }
  std::string text = heading(
      text::printed(
          "What the compiler makes of a warp's loop over K (recorded for sm_%d)",
          known.record->compute_capability),
      style);
  text += columns("", "as written", "as compiled", "");
  text += known.row.variant->multiplier != model::Multiplier::ffma
              ? line("matrix products (MMA)", products, "of the tensor cores")
              : line("multiply-adds (FFMA)", products);
  if (traced.requests > 0) {
    text += line("loads from SMEM", loads, widths) + line("  their wavefronts", wavefronts);
  }
  text += line("all instructions", all, "with addresses, branches and barriers");
  if (loads.compiled < 0.99 * loads.written) {
    text += verdict(
        traced.floats.sum != traced.accesses.sum
            ? "Only the loop that multiplies is recorded. The other loads are those of warps that "
              "prepare the tiles."
            : "Where a thread loads neighbouring words, the compiler made one wide load of "
              "several: fewer instructions and fewer wavefronts.");
  }
  return text;
}

int percent(double share) {
  return static_cast<int>(std::lround(100 * share));
}

// ", 18 % more than the 406 recorded": nothing where no speed is known.
std::string error_of(double predicted, const Known& known) {
  const auto& speed = known.tflops ? known.tflops : known.recorded_tflops;
  if (!speed) return "";
  const int more = percent(predicted / *speed - 1);
  return text::printed(", %d %% %s than the ", std::abs(more), more < 0 ? "less" : "more") +
         tflops_words(*speed) + (known.tflops ? " measured" : " recorded");
}

// The speed that the model of waiting predicts, and what a block spends its time on.
std::string predicted_waiting(const Known& known) {
  const model::Waiting& waiting = *known.waiting;
  std::string units;
  for (int unit = 0; unit < model::kUnits; ++unit) {
    if (percent(waiting.busy[unit]) == 0) continue;
    units += (units.empty() ? "" : ", ") + std::string(model::kUnitNames[unit]) +
             text::printed(" %d %%", percent(waiting.busy[unit]));
  }
  const bool alone = waiting.resident_blocks == 1;
  std::string spent =
      (alone ? "the only block on an SM"
             : text::printed("each of the %d blocks on an SM", waiting.resident_blocks)) +
      text::printed(" issues %d %% of its time", percent(waiting.issuing));
  for (const auto& [share, what] :
       {std::pair(waiting.waiting_for_smem, "waits %d %% for SMEM"),
        {waiting.waiting_for_gmem, "waits %d %% for GMEM"},
        {waiting.at_barriers, "is at barriers %d %%"}}) {
    if (percent(share) > 0) spent += ", " + text::printed(what, percent(share));
  }
  return fact(
             "with waiting", tflops_words(waiting.tflops) + " TFLOP/s predicted" +
                                 error_of(waiting.tflops, known)) +
         fact("", units) + fact("", spent);
}

// What keeps a kernel below its ceiling: waiting, which the ceiling does not count.
std::string what_it_cannot_see(const Known& known) {
  const auto& bound = known.bound;
  if (!bound) {
    if (const auto& waiting = known.waiting) {
      const int busy = percent(waiting->busy[waiting->busiest]);
      const std::string unit(model::kUnitNames[waiting->busiest]);
      return fact(
          "bound by", busy < kBusy
                          ? text::printed(
                                "latency, by the prediction: even %s is idle %d %% of the time",
                                unit.c_str(), 100 - busy)
                          : unit + ", by the prediction");
    }
    return fact("not seen", "waiting, for results and at barriers: a ceiling counts only work");
  }
  const std::string unit(model::kUnitNames[bound->unit]);
  return fact("measured", text::printed("%d %% of the ceiling at this size", bound->percent)) +
         fact(
             "bound by", bound->latency
                             ? text::printed(
                                   "latency: even %s, the busiest unit, is idle %d %% of the time. "
                                   "Warps mostly wait for results and at barriers, and the ceiling "
                                   "cannot see that.",
                                   unit.c_str(), 100 - bound->percent)
                             : unit + ", the busiest unit");
}

// What all SMs have to do, and the one with the most.
std::string work_of_an_sm(const SharedOut& shares, int sms) {
  const int tiles = shares.tiles;
  if (shares.slices == 1) {
    return text::grouped(tiles) + (shares.in_turns ? " tiles" : " blocks") +
           text::printed(" on %d SMs, at most %d on one", sms, (tiles + sms - 1) / sms);
  }
  const bool all = shares.whole == 0;
  const int of_an_sm = shares.whole / sms;
  const std::string whole = all             ? ""
                            : of_an_sm == 1 ? "1 whole one and "
                                            : std::to_string(of_an_sm) + " whole ones and ";
  return text::grouped(tiles) + text::printed(" tiles on %d SMs, ", sms) +
         (all ? "all" : text::grouped(tiles - shares.whole)) + " of them cut: at most " + whole +
         text::printed("%d of %d K tiles on one", shares.depth, shares.k_tiles);
}

std::string ceilings(const Known& known, text::Style style) {
  const lab::Run& run = known.run;
  const auto &written = known.written, &compiled = known.compiled;
  if (!written) return "";
  const model::Ceiling& ceiling = *known.ceiling();
  const int bar = std::min(50, text::report_width() - 40);
  std::string text = heading(
      std::string("Why it is this fast: what each unit of ") + run.gpu.name + " needs, " +
          (compiled ? "as compiled" : "as written"),
      style);
  for (int unit = 0; unit < model::kUnits; ++unit) {
    if (unit == model::kTensor && ceiling.ms[unit] == 0) continue;  // the kernel does not use them
    const double share = ceiling.ms[unit] / ceiling.ms[ceiling.bound_by];
    const int length = static_cast<int>(std::lround(share * bar));
    text += text::repeated(" ", kIndent) + text::pad_right(model::kUnitNames[unit], kLabel) +
            text::pad_right(text::repeated("█", length), bar) + " " +
            text::pad_left(fitted(text::significant(ceiling.ms[unit]), ceiling.ms[unit], 10), 8) +
            " ms" + (unit == ceiling.bound_by ? " <- most" : "") + "\n";
  }
  const auto bound = [](const model::Ceiling& c) {
    return tflops_words(c.tflops) + " TFLOP/s, bound by " +
           std::string(model::kUnitNames[c.bound_by]);
  };
  if (compiled) text += fact("ceiling", bound(*compiled));
  text += fact(
      "as written", bound(*written) + ", if each access and each product were one instruction");
  if (ceiling.before_ms > 0) {
    text += fact(
        "before it", text::significant(ceiling.before_ms) +
                         " ms in which A and B are split, in both; the unit is idle then");
  }
  if (known.traced->smem_stores.requests > 0) {  // else nothing is copied before it is multiplied
    text += fact(
        "one block alone", tflops_words(ceiling.no_overlap_tflops) +
                               " TFLOP/s, if it copied, then multiplied, never both; other "
                               "blocks overlap it");
  }
  text += fact(
      "tail", work_of_an_sm(*known.shares, run.gpu.sms) +
                  text::printed(
                      ": an SM is busy %.0f %% of the time on average", 100 * ceiling.busy_share));
  const bool on_an_sm = ceiling.bound_by != model::kL2 && ceiling.bound_by != model::kDram;
  if (on_an_sm && ceiling.busy_share < 1) {
    text += fact(
        "", "with enough blocks for all SMs: " + tflops_words(ceiling.tflops / ceiling.busy_share) +
                " TFLOP/s");
  }
  if (known.waiting) text += predicted_waiting(known);
  return text + what_it_cannot_see(known);
}

// Barriers and bytes in flight, of a row that was traced.
std::string explain_in_flight(const Known& known) {
  const lab::Row& row = known.row;
  if (!row.stage || !known.traced || known.traced->smem_loads.requests == 0) return "";
  std::string text = fact(
      "barriers", text::exact(std::round(100 * *known.barriers_per_block) / 100) + " per block" +
                      (known.barriers_per_k_tile
                           ? ", " + text::brief(*known.barriers_per_k_tile) + " per tile of K"
                           : ""));
  bool any = false;
  for (const model::LineCounts& line : known.traced->lines) {
    if (!line.shared || line.direction != model::Direction::load || line.in_flight_most == 0)
      continue;
    any = true;
    const InFlight bytes = in_flight(row, line);
    text += fact(
        line.line > 0 ? text::printed("line %d", line.line) : "loads",
        "loads " + line.array + " while " + text::grouped(std::llround(bytes.mean_bytes)) +
            " B (at most " + text::grouped(std::llround(bytes.most_bytes)) +
            " B) of the next tiles are being copied");
  }
  if (!any && model::is_specialized(*row.stage) && row.aligned) {
    text += fact(
        "in flight",
        text::printed(
            "up to %d tiles ahead, in boxes; warps wait for them and for each other at mbarriers",
            row.variant->pipeline));
  } else if (!any) {
    text += fact("in flight", "nothing: each tile is copied, waited for and then multiplied");
  }
  return text;
}

}  // namespace

SectionParts explain_instructions(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (!row.variant || !model::has_clock(run.gpu)) return {};
  return {{as_compiled(known, style)}};
}

SectionParts explain_ceiling(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (!row.variant) return {};
  const std::string in_flight = explain_in_flight(known);
  if (!model::has_clock(run.gpu)) {
    return {
        {heading("How fast it is", style) +
         fact(
             "no clock", "the " + run.gpu.name +
                             " only counts: there are no times and no ceilings. Choose a real GPU, "
                             "for example --gpu H200.") +
         in_flight}};
  }
  SectionParts parts;
  if (!whole) parts = explain_instructions(explained);
  parts.push_back({ceilings(known, style) + in_flight});
  return parts;
}

}  // namespace report
