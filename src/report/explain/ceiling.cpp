#include "report/explain/sections.h"

#include <cmath>

#include "lab/run.h"
#include "report/bound_by.h"
#include "report/explain/words.h"
#include "report/in_flight.h"
#include "text/numbers.h"

namespace report {

namespace {

// A warp's instructions along all of K, as the trace saw the source and as the compiler made them.
std::string as_compiled(const lab::Run& run, const lab::Row& row, text::Style style) {
  const std::optional<model::CompiledKernel> record = lab::compiled_loop(run, row);
  if (!record || !row.counts || row.counts->blocks_traced == 0) return "";
  const model::Counts& counts = *row.counts;
  const model::Variant& v = *row.variant;
  const model::Product product = lab::product_of(run);
  const model::SharedLoads loads = model::shared_loads_as_compiled(product, v, counts, *record);
  const model::Rounds times = model::rounds_along_K(product, v, *record);
  const double warps = run.gpu.warp.warps_of(v.threads());
  const double traced_warps = warps * model::traced_tiles(product, v, counts);
  const auto a_warp = [&](std::int64_t total) { return static_cast<double>(total) / traced_warps; };
  const auto compiled = [&](int model::InstructionMix::*kind) {
    return times.loop * record->loop.*kind + times.inner * record->inner.*kind;
  };
  const auto number = [](double value) { return text::grouped(std::llround(value)); };
  const int wide = text::report_width() < text::kReportWidth ? 11 : 14;
  const auto columns = [&](const char* what, const std::string& written, const std::string& made,
                           const std::string& note) {
    const std::string cells =
        text::printed("  %-22s %*s %*s  ", what, wide, written.c_str(), wide, made.c_str());
    return text::labelled(cells, text::display_width(cells), note);
  };
  const auto line = [&](const char* what, double written, double made, const std::string& note) {
    return columns(what, number(written), number(made), note);
  };
  struct Width {
    const char* name;
    int model::InstructionMix::*kind;
  };
  std::string widths;
  for (const auto& [name, kind] :
       {Width{"LDS.32", &model::InstructionMix::lds32},
        {"LDS.64", &model::InstructionMix::lds64},
        {"LDS.128", &model::InstructionMix::lds128},
        {"LDSM", &model::InstructionMix::ldsm1},
        {"LDSM.2", &model::InstructionMix::ldsm2},
        {"LDSM.4", &model::InstructionMix::ldsm4}}) {
    if (compiled(kind) == 0) continue;
    widths += (widths.empty() ? "" : " + ") + number(compiled(kind)) + " " + name;
  }
  const bool tensor = v.multiplier != model::Multiplier::ffma;
  const double multiplications = model::multiplications_of_a_warp(product, v);
  const double written =
      multiplications +
      a_warp(
          counts.gmem_loads.requests + counts.gmem_stores.requests + counts.smem_loads.requests +
          counts.smem_stores.requests - counts.async_smem.requests);
  const double made = times.loop * record->loop.all() + times.inner * record->inner.all();
  const double loads_written = a_warp(counts.smem_loads.requests);

  const int cc = record->compute_capability;
  std::string text = heading(
      text::printed("What the compiler makes of a warp's loop over K (recorded for sm_%d)", cc),
      style);
  text += columns("", "as written", "as compiled", "");
  text += tensor ? line(
                       "matrix products (MMA)", multiplications,
                       compiled(&model::InstructionMix::mma), "of the tensor cores")
                 : line(
                       "multiply-adds (FFMA)", multiplications,
                       compiled(&model::InstructionMix::ffma), "");
  if (counts.smem_loads.requests > 0) {
    text += line("loads from SMEM", loads_written, loads.requests / warps, widths);
    text +=
        line("  their wavefronts", a_warp(counts.smem_loads.pieces), loads.wavefronts / warps, "");
  }
  text += line("all instructions", written, made, "with addresses, branches and barriers");
  if (loads.requests / warps < 0.99 * loads_written) {
    text += verdict(
        "Where a thread loads neighbouring words, the compiler made one wide load of several: "
        "fewer "
        "instructions and fewer wavefronts.");
  }
  return text;
}

int percent(double share) {
  return static_cast<int>(std::lround(100 * share));
}

// The speed that the model of waiting predicts, and what a block spends its time on.
std::string predicted_waiting(const model::Waiting& waiting) {
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
  return fact("with waiting", tflops_words(waiting.tflops) + " TFLOP/s predicted: " + units) +
         fact("", spent);
}

// What keeps a kernel below its ceiling: waiting, which the ceiling does not count.
std::string what_it_cannot_see(const lab::Run& run, const lab::Row& row) {
  const auto bound = lab::bound_by(run, row);
  if (!bound) {
    if (const auto waiting = lab::with_waiting(run, row)) {
      const int busy = percent(waiting->busy[waiting->busiest]);
      const std::string unit(model::kUnitNames[waiting->busiest]);
      return fact(
          "bound by", busy < lab::kBusy
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
std::string work_of_an_sm(const lab::Run& run, const model::Variant& v) {
  const model::ShareOut shares = lab::shares(run, v);
  const int tiles = model::tiles_of(v, run.M, run.N), sms = run.gpu.sms;
  if (shares.parts == 1) {
    const char* const what = model::is_in_turns(shares, tiles) ? " tiles" : " blocks";
    return text::grouped(tiles) + what +
           text::printed(" on %d SMs, at most %d on one", sms, (tiles + sms - 1) / sms);
  }
  const bool all = shares.whole == 0;
  const int of_an_sm = shares.whole / sms;
  const std::string whole = all             ? ""
                            : of_an_sm == 1 ? "1 whole one and "
                                            : std::to_string(of_an_sm) + " whole ones and ";
  return text::grouped(tiles) + text::printed(" tiles on %d SMs, ", sms) +
         (all ? "all" : text::grouped(tiles - shares.whole)) + " of them cut: at most " + whole +
         text::printed(
             "%d of %d K tiles on one", shares.depth,
             model::padded_K(lab::product_of(run), v) / v.BK);
}

std::string ceilings(const lab::Run& run, const lab::Row& row, text::Style style) {
  const std::optional<model::Ceiling> written = lab::written_ceiling(run, row);
  const std::optional<model::Ceiling> compiled = lab::compiled_ceiling(run, row);
  if (!written) return "";
  const model::Ceiling& ceiling = compiled ? *compiled : *written;
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
            text::pad_left(text::significant(ceiling.ms[unit]), 8) + " ms" +
            (unit == ceiling.bound_by ? " <- most" : "") + "\n";
  }
  const auto bound = [](const model::Ceiling& c) {
    return tflops_words(c.tflops) + " TFLOP/s, bound by " +
           std::string(model::kUnitNames[c.bound_by]);
  };
  if (compiled) text += fact("ceiling", bound(*compiled));
  text += fact(
      "as written", bound(*written) + ", if each access and each product were one instruction");
  text += fact(
      "one block alone", tflops_words(ceiling.no_overlap_tflops) +
                             " TFLOP/s, if it copied, then multiplied, never both; other "
                             "blocks overlap it");
  text += fact(
      "tail", work_of_an_sm(run, *row.variant) +
                  text::printed(
                      ": an SM is busy %.0f %% of the time on average", 100 * ceiling.busy_share));
  const bool on_an_sm = ceiling.bound_by != model::kL2 && ceiling.bound_by != model::kDram;
  if (on_an_sm && ceiling.busy_share < 1) {
    text += fact(
        "", "with enough blocks for all SMs: " + tflops_words(ceiling.tflops / ceiling.busy_share) +
                " TFLOP/s");
  }
  if (const auto waiting = lab::with_waiting(run, row)) text += predicted_waiting(*waiting);
  return text + what_it_cannot_see(run, row);
}

}  // namespace

std::vector<Part> explain_ceiling(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  if (!row.variant) return {};
  const bool is_stage = row.stage && row.counts;
  const std::string in_flight = is_stage ? explain_in_flight(run, row) : "";
  if (!model::has_clock(run.gpu)) {
    return {
        {heading("How fast it is", style) +
         fact(
             "no clock", "the " + run.gpu.name +
                             " only counts: there are no times and no ceilings. Choose a real GPU, "
                             "for example --gpu H200.") +
         in_flight}};
  }
  std::vector<Part> parts;
  if (!whole) parts.push_back({as_compiled(run, row, style)});
  parts.push_back({ceilings(run, row, style) + in_flight});
  return parts;
}

}  // namespace report
