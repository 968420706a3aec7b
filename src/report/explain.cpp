#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <sstream>

#include "lab/rates.h"
#include "pictures/tile_picture.h"
#include "report/annotated.h"
#include "report/in_flight.h"
#include "report/kernel_diff.h"
#include "report/predicted.h"
#include "report/predictions.h"
#include "report/questions.h"
#include "text/numbers.h"
#include "text/style.h"

namespace report {

namespace {

constexpr int kIndent = 2;
constexpr int kLabel = 16;  // columns of what stands left of a section's facts

std::string heading(const std::string& text, text::Style style) {
  return text::printed("\n%s\n", text::coloured(text, text::Colour::bold, style).c_str());
}

// A label and its fact. A long fact goes on below, under where it began.
std::string fact(std::string_view label, std::string_view words) {
  return text::labelled(text::repeated(" ", kIndent) + std::string(label), kIndent + kLabel, words);
}

// What a line of a table means, under it.
std::string verdict(std::string_view words) {
  return text::labelled("", 2 * kIndent, words);
}

std::string paragraph(std::string_view words) {
  return text::labelled("", 0, words);
}

std::string title(const lab::Row& row, text::Style style) {
  const bool is_stage = row.number >= 0 && !row.launch;
  std::string text = is_stage ? text::printed("Stage %d: ", row.number) + row.name : row.name;
  if (row.variant && is_stage) text += text::printed(" (%s)", row.variant->name);
  return text::coloured(text::shortened(text, text::kReportWidth), text::Colour::bold, style) +
         "\n" + text::repeated("─", text::kReportWidth) + "\n";
}

std::string idea(const lab::Row& row) {
  if (row.stage) return paragraph(row.stage->idea);
  if (row.number == 0) {
    return paragraph(
        "The triple loop as everyone first writes it, on one CPU core: i over the rows of C, j "
        "over "
        "its columns, k along the sum. The stages after it run on a GPU, and are measured against "
        "it.");
  }
  return paragraph(
      "A yardstick, and no stage: its code is not in this lesson, only its time and its error.");
}

std::string problem(const lab::Run& run) {
  return fact("problem", product(run) + ", fp32, row-major");
}

std::string launch_shape(const lab::Run& run, const lab::Row& row, text::Style style, bool folded) {
  const model::Variant& v = *row.variant;
  std::string text = heading("The launch", style) + problem(run);
  text += fact("kernel", lab::kernel_name(row));
  if (!row.aligned && v.kernel_any.function != v.kernel.function) {
    text += fact(
        "", "(copies single floats: not every row of A, B and C starts at a multiple of 16 bytes)");
  }
  const std::string depth =
      v.BK > 0 ? text::printed(", %d of K at a time: BM x BN, BK", v.BK) : ": BM x BN";
  text += fact("block's tile", text::printed("%d x %d of C", v.BM, v.BN) + depth);
  // What the picture below says as well.
  if (v.WM > 0 && !folded)
    text += fact("warp's tile", text::printed("%d x %d of C: WM x WN", v.WM, v.WN));
  if ((v.TM > 0 || v.TN > 0) && !folded) {
    text += fact(
        "thread's tile",
        text::printed("%d x %d of C: TM x TN", std::max(v.TM, 1), std::max(v.TN, 1)));
  }
  if (!folded) text += fact("results", text::exact(lab::results_per_thread(v)) + " of C a thread");
  if (v.pipeline > 1) text += fact("pipeline", text::printed("%d tiles in flight", v.pipeline));
  text += fact(
      "block", text::printed(
                   "%d x %d = %d threads, %d warps", v.block_x, v.block_y, v.threads(),
                   (v.threads() + 31) / 32));
  const lab::Grid blocks = lab::grid(run, v);
  text += fact(
      "grid", text::printed(
                  "ceil(N/BN) x ceil(M/BM) = ceil(%d/%d) x ceil(%d/%d) = %lld x %lld = ", run.N,
                  v.BN, run.M, v.BM, blocks.x, blocks.y) +
                  text::grouped(blocks.x * blocks.y) + " blocks");
  if (row.counts) {
    const model::Counts& counts = *row.counts;
    text += fact(
        "traced",
        text::grouped(counts.blocks_traced) + " of " + text::grouped(counts.blocks) + " blocks, " +
            text::grouped(counts.threads_traced) + " threads" +
            (lab::is_total(counts) ? ": the counts below are the whole launch's"
                                   : " (corners, edges, middle); --trace all traces all"));
  }
  return text;
}

// Of a kernel that is no stage.
std::string own_launch_shape(const lab::Run& run, const lab::Row& row, text::Style style) {
  const lab::LaunchShape& shape = *row.launch;
  const auto extent = [](lab::LaunchShape::Extent e) {
    return text::printed("%u x %u x %u", e.x, e.y, e.z);
  };
  const auto volume = [](lab::LaunchShape::Extent e) { return 1LL * e.x * e.y * e.z; };
  std::string text = heading("The launch", style) + problem(run);
  text +=
      fact("block", extent(shape.block) + " = " + text::grouped(volume(shape.block)) + " threads");
  text += fact("grid", extent(shape.grid) + " = " + text::grouped(volume(shape.grid)) + " blocks");
  text += fact(
      "shared memory", text::grouped(shape.static_shared_bytes) + " B static, " +
                           text::grouped(shape.dynamic_shared_bytes) + " B dynamic");
  if (shape.launches > 1) {
    text += fact("launches", text::grouped(shape.launches) + "; this is the first one's shape");
  }
  const model::Counts& counts = *row.counts;
  return text +
         fact(
             "traced", text::grouped(counts.blocks_traced) + " of " + text::grouped(counts.blocks) +
                           " blocks, " + text::grouped(counts.threads_traced) + " threads");
}

// One figure of a thread: its name, where the prediction and the traced counts are.
struct Figure {
  const char* what;
  const char* unit;
  const char* model::Predicted::*formula;
  double PredictedCounts::*predicted;
  model::PerThread model::Traffic::*traced;
  model::Traffic model::Counts::*of;
};

constexpr Figure kFigures[] = {
    {"GMEM loads", "accesses", &model::Predicted::gmem_loads, &PredictedCounts::gmem_loads,
     &model::Traffic::accesses, &model::Counts::gmem_loads},
    {"", "floats", &model::Predicted::gmem_floats, &PredictedCounts::gmem_floats,
     &model::Traffic::floats, &model::Counts::gmem_loads},
    {"SMEM loads", "accesses", &model::Predicted::smem_loads, &PredictedCounts::smem_loads,
     &model::Traffic::accesses, &model::Counts::smem_loads},
    {"", "floats", &model::Predicted::smem_floats, &PredictedCounts::smem_floats,
     &model::Traffic::floats, &model::Counts::smem_loads},
    {"GMEM stores", "accesses", &model::Predicted::gmem_stores, &PredictedCounts::gmem_stores,
     &model::Traffic::accesses, &model::Counts::gmem_stores},
    {"SMEM stores", "accesses", &model::Predicted::smem_stores, &PredictedCounts::smem_stores,
     &model::Traffic::accesses, &model::Counts::smem_stores},
    {"cp.async", "copies", &model::Predicted::async_copies, &PredictedCounts::async_copies,
     &model::Traffic::accesses, &model::Counts::async_gmem},
};

bool agrees(const Figure& figure, const PredictedCounts& expected, const model::Counts& counts) {
  const model::PerThread& traced = counts.*figure.of.*figure.traced;
  return expected.*figure.predicted == static_cast<double>(traced.max);
}

// Why a traced thread may do other than the formula says, as far as the shape tells.
std::string why_they_differ(const lab::Run& run, const lab::Row& row) {
  const model::Variant& v = *row.variant;
  if (run.M < v.BM || run.N < v.BN) {
    return "C is smaller than a block's tile: no block is an interior one, and no thread does all "
           "that the formula counts.";
  }
  if (v.BK > 0 && run.K % v.BK != 0) {
    return text::printed(
        "K = %d is no multiple of BK = %d: in the last tile some threads find nothing to "
        "copy.",
        run.K, v.BK);
  }
  return "The shape gives no reason: the kernel does not do what the stage table says, or the "
         "traced blocks hold no interior one.";
}

std::string counts_per_thread(const lab::Run& run, const lab::Row& row, text::Style style) {
  constexpr const char* kColumns = "%-11s %-9s %12s %12s %12s %12s %14s  %s\n";
  const bool predictable = row.stage != nullptr;
  const PredictedCounts expected = predicted(run, row).value_or(PredictedCounts{});
  const double results = lab::results_per_thread(*row.variant);
  std::string text = heading("What one thread does", style);
  text += "  " + text::printed(
                     kColumns, "", "", predictable ? "predicted," : "", "traced:", "", "",
                     "traced max", "");
  text += "  " + text::printed(
                     kColumns, "", "", predictable ? "interior" : "", "min", "mean", "max",
                     "per result", "");
  bool all_agree = true;
  for (const Figure& figure : kFigures) {
    const double prediction = expected.*figure.predicted;
    const model::PerThread none;
    const model::PerThread& traced = row.counts ? (*row.counts).*figure.of.*figure.traced : none;
    if (figure.formula == &model::Predicted::async_copies && prediction == 0 && traced.max == 0)
      continue;
    if (!row.counts || row.counts->threads_traced == 0) {
      text += "  " + text::printed(
                         kColumns, figure.what, figure.unit, text::exact(prediction).c_str(), "-",
                         "-", "-", "-", "");
      continue;
    }
    const bool same = !predictable || agrees(figure, expected, *row.counts);
    all_agree = all_agree && same;
    const double mean =
        static_cast<double>(traced.sum) / static_cast<double>(row.counts->threads_traced);
    const std::string mark = !predictable ? ""
                             : same       ? text::coloured("=", text::Colour::green, style)
                                          : text::coloured("DIFFERS", text::Colour::red, style);
    text +=
        "  " + text::printed(
                   kColumns, figure.what, figure.unit,
                   predictable ? text::exact(prediction).c_str() : "",
                   text::grouped(traced.min).c_str(), text::exact(mean).c_str(),
                   text::grouped(traced.max).c_str(),
                   text::exact(static_cast<double>(traced.max) / results).c_str(), mark.c_str());
  }
  text += fact(
      "accesses",
      "as the source says them, of any width; a cp.async is a GMEM load and a SMEM store");
  if (!all_agree) text += fact("differs", why_they_differ(run, row));
  return text;
}

std::string formulas(const lab::Run& run, const lab::Row& row, text::Style style, bool folded) {
  const std::vector<model::Named> names = formula_names(run, row);
  const PredictedCounts expected = *predicted(run, row);
  std::string text = heading("Where the predicted counts come from", style);
  std::string_view before;
  for (const Figure& figure : kFigures) {
    const char* formula = row.stage->predicted.*figure.formula;
    const std::string_view formula_text = formula ? formula : "0";
    // Where every access is one float, the floats' formula is the accesses' again.
    const bool floats = *figure.what == '\0';
    const bool repeated_formula = floats && formula_text == before;
    before = formula_text;
    if (repeated_formula || formula_text == "0" || (floats && folded)) continue;
    const std::string numbers = with_numbers(formula_text, names);
    const std::string value = text::exact(expected.*figure.predicted);
    const std::string worked_out = "= " + (numbers != value ? numbers + " = " : "") + value;
    const std::string in_one = std::string(formula_text) + " " + worked_out;
    const char* label = floats ? "  in floats" : figure.what;
    if (kIndent + kLabel + text::display_width(in_one) <= text::kReportWidth) {
      text += fact(label, in_one);
    } else {
      text += fact(label, formula_text) + fact("", worked_out);
    }
  }
  return text;
}

std::string coalescing(const model::Traffic& traffic) {
  const double ratio = static_cast<double>(traffic.pieces) /
                       static_cast<double>(std::max<std::int64_t>(traffic.ideal_pieces, 1));
  if (traffic.pieces < traffic.ideal_pieces) {
    return "Coalesced, and fewer than ideal: some lanes read the same address, which is fetched "
           "once.";
  }
  if (traffic.pieces == traffic.ideal_pieces) {
    return "Coalesced: the lanes' addresses are neighbours, and no byte of a sector is moved in "
           "vain.";
  }
  if (ratio < 1.25) {
    return "Nearly coalesced: " + text::exact(std::round(ratio * 100) / 100) +
           " times the sectors of neighbouring, aligned addresses.";
  }
  return "Not coalesced: " + text::exact(std::round(ratio * 100) / 100) +
         " times the sectors that neighbouring addresses would take; the rest is in vain.";
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

double ideal_per_request(const model::Traffic& traffic) {
  return static_cast<double>(traffic.ideal_pieces) / static_cast<double>(traffic.requests);
}

std::string warps(const model::Counts& counts, text::Style style) {
  constexpr const char* kColumns = "%-13s %16s %16s %14s %14s %14s\n";
  struct Line {
    const char* what;
    const model::Traffic& traffic;
    model::Traffic copies;  // the part of it that cp.async makes
  };
  const Line global[] = {
      {"GMEM loads", counts.gmem_loads, {}}, {"GMEM stores", counts.gmem_stores, {}}};
  const Line shared[] = {
      {"SMEM loads", counts.smem_loads, {}},
      {"SMEM stores", counts.smem_stores, counts.async_smem}};
  const auto line = [&](const char* what, const model::Traffic& traffic, const std::string& last) {
    return "  " + text::printed(
                      kColumns, what, text::grouped(traffic.requests).c_str(),
                      text::grouped(traffic.pieces).c_str(),
                      text::printed("%.2f", lab::pieces_per_request(traffic)).c_str(),
                      text::printed("%.2f", ideal_per_request(traffic)).c_str(), last.c_str());
  };

  std::string text =
      heading("What its warp asks of memory (a request is one instruction of 32 threads)", style);
  text +=
      "  " + text::printed(kColumns, "", "requests", "32-byte sectors", "per request", "ideal", "");
  for (const Line& loads_or_stores : global) {
    const model::Traffic& traffic = loads_or_stores.traffic;
    if (traffic.requests == 0) continue;
    text += line(loads_or_stores.what, traffic, "") + verdict(coalescing(traffic));
  }
  if (counts.smem_loads.requests + counts.smem_stores.requests > 0) {
    text += "  " +
            text::printed(
                kColumns, "", "requests", "wavefronts", "per request", "ideal", "bank conflicts");
    for (const auto& [what, traffic, copies] : shared) {
      if (traffic.requests == 0) continue;
      text += line(what, traffic, text::grouped(traffic.bank_conflicts)) +
              verdict(conflicts(traffic, copies));
    }
  }
  if (counts.async_gmem.requests > 0) {
    text += fact(
        "cp.async", text::grouped(counts.async_gmem.requests) +
                        " of these requests: " + text::grouped(counts.async_gmem.pieces) +
                        " sectors from GMEM, " + text::grouped(counts.async_smem.pieces) +
                        " wavefronts into SMEM, past the registers");
  }
  if (!lab::is_total(counts))
    text += "  Counted in the traced blocks only; --trace all gives the totals of the launch.\n";
  return text;
}

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
  const int unit = std::max(gpu.smem_granularity_bytes, 1);
  const int taken = (used + reserved + unit - 1) / unit * unit;
  if (used <= 0) {
    limit.steps = {"the kernel uses none"};
  } else if (used > gpu.smem_bytes_per_block) {
    limit.steps = {
        text::grouped(used) +
        " B are more than one block may have: " + text::grouped(gpu.smem_bytes_per_block) + " B"};
  } else {
    std::string bytes = text::grouped(used) + " B";
    if (reserved > 0) bytes += " + " + text::grouped(reserved) + " B of the system";
    if (taken != used + reserved) bytes += text::printed(", rounded up to a multiple of %d", unit);
    if (taken != used) bytes += ": " + text::grouped(taken) + " B";
    limit.steps = {
        bytes, "floor(" + text::grouped(gpu.smem_bytes_per_sm) + " B an SM / " +
                   text::grouped(taken) + " B a block)"};
  }
  return limit;
}

Limit by_registers(const model::Gpu& gpu, const model::Occupancy& o) {
  constexpr int kGranularity = 256;  // a warp gets registers by 256: cuda_occupancy.h
  Limit limit{
      "registers",
      {"not known: there is no nvcc; --registers N states them"},
      o.blocks_by_registers};
  const int used = o.resources.registers_per_thread * 32;
  if (used <= 0) return limit;
  const int taken = (used + kGranularity - 1) / kGranularity * kGranularity;
  std::string registers = text::printed("%d x 32 lanes = ", o.resources.registers_per_thread) +
                          text::grouped(used) + " a warp";
  if (taken != used) registers += ", rounded up to " + text::grouped(taken);
  limit.steps = {
      registers, text::printed(
                     "floor(floor(%d / 4 / %d) * 4 / %d warps a block)", gpu.registers_per_sm,
                     taken, o.warps_per_block)};
  return limit;
}

std::string occupancy_by_line(const lab::Run& run, const lab::Row& row, text::Style style) {
  constexpr int kSteps = 58;
  const model::Gpu& gpu = run.gpu;
  const model::Occupancy& o = *row.occupancy;
  const Limit limits[] = {
      {"threads",
       {text::printed(
           "floor(%d threads an SM / 32 / %d warps a block)", gpu.threads_per_sm,
           o.warps_per_block)},
       o.blocks_by_threads},
      {"blocks", {"the most that an SM keeps track of"}, o.blocks_by_blocks},
      by_smem(gpu, o),
      by_registers(gpu, o)};

  std::string text = heading("How many blocks an SM of " + gpu.name + " holds", style);
  std::string limited_by;
  for (const Limit& limit : limits) {
    const bool least = limit.blocks == o.blocks_per_sm;
    if (least) limited_by += (limited_by.empty() ? "" : " and ") + std::string(limit.name);
    const std::string blocks =
        limit.blocks == INT_MAX ? " no limit" : text::printed(" = %3d blocks", limit.blocks);
    for (const std::string& step : limit.steps) {
      text += text::repeated(" ", kIndent) +
              text::pad_right(&step == &limit.steps[0] ? limit.name : "", kLabel);
      text += &step == &limit.steps.back()
                  ? text::pad_right(step, kSteps) + blocks + (least ? " <- least" : "")
                  : step;
      text += "\n";
    }
  }
  text += fact(
      "occupancy", text::printed(
                       "%d blocks x %d warps = %d of the %d warps that an SM can hold: %.2f %%",
                       o.blocks_per_sm, o.warps_per_block, o.blocks_per_sm * o.warps_per_block,
                       gpu.threads_per_sm / 32, o.percent));
  text += fact("limiter", limited_by);
  if (row.variant && o.blocks_per_sm > 0) {
    const lab::Grid blocks = lab::grid(run, *row.variant);
    const long long count = row.launch
                                ? 1LL * row.launch->grid.x * row.launch->grid.y * row.launch->grid.z
                                : blocks.x * blocks.y;
    text += fact(
        "waves", text::grouped(count) + text::printed(
                                            " blocks / (%d a SM x %d SMs) = %.2f", o.blocks_per_sm,
                                            gpu.sms, model::waves(gpu, o, count)));
  }
  return text;
}

// A warp's instructions along all of K, as the trace saw the source and as the compiler made them.
std::string as_compiled(const lab::Run& run, const lab::Row& row, text::Style style) {
  const std::optional<model::CompiledKernel> record = lab::compiled_loop(run, row);
  if (!record || !row.counts || row.counts->blocks_traced == 0) return "";
  const model::Counts& counts = *row.counts;
  const model::Variant& v = *row.variant;
  const model::Product product = lab::product_of(run);
  const model::SharedLoads loads = model::shared_loads_as_compiled(product, v, counts, *record);
  const model::Rounds times = model::rounds_along_K(product, v, *record);
  const double warps = (v.threads() + 31) / 32;
  const double traced_warps = warps * static_cast<double>(counts.blocks_traced);
  const auto a_warp = [&](std::int64_t total) { return static_cast<double>(total) / traced_warps; };
  const auto compiled = [&](int model::InstructionMix::*kind) {
    return times.loop * record->loop.*kind + times.inner * record->inner.*kind;
  };
  const auto number = [](double value) { return text::grouped(std::llround(value)); };
  const auto line = [&](const char* what, double written, double made, const std::string& note) {
    return "  " + text::printed(
                      "%-22s %14s %14s  %s\n", what, number(written).c_str(), number(made).c_str(),
                      note.c_str());
  };
  struct Width {
    const char* name;
    int model::InstructionMix::*kind;
  };
  std::string widths;
  for (const auto& [name, kind] :
       {Width{"LDS.32", &model::InstructionMix::lds32},
        {"LDS.64", &model::InstructionMix::lds64},
        {"LDS.128", &model::InstructionMix::lds128}}) {
    if (compiled(kind) == 0) continue;
    widths += (widths.empty() ? "" : " + ") + number(compiled(kind)) + " " + name;
  }
  const double ffma = lab::results_per_thread(v) * model::padded_K(product, v);
  const double written = ffma + a_warp(
                                    counts.gmem_loads.requests + counts.gmem_stores.requests +
                                    counts.smem_loads.requests + counts.smem_stores.requests -
                                    counts.async_smem.requests);
  const double made = times.loop * record->loop.all() + times.inner * record->inner.all();
  const double loads_written = a_warp(counts.smem_loads.requests);

  const int cc = record->compute_capability;
  std::string text = heading(
      text::printed("What the compiler makes of a warp's way along K (recorded for sm_%d)", cc),
      style);
  text += "  " + text::printed("%-22s %14s %14s\n", "", "as written", "as compiled");
  text += line("multiplications (FFMA)", ffma, compiled(&model::InstructionMix::ffma), "");
  if (counts.smem_loads.requests > 0) {
    text += line("loads from SMEM", loads_written, loads.requests / warps, widths);
    text +=
        line("  their wavefronts", a_warp(counts.smem_loads.pieces), loads.wavefronts / warps, "");
  }
  text += line("all instructions", written, made, "with addresses, branches and barriers");
  if (loads.requests / warps < 0.99 * loads_written) {
    text += verdict(
        "The compiler saw that a thread wants neighbouring words, and made one wide load of "
        "several: fewer instructions, fewer wavefronts.");
  }
  return text;
}

std::string ceilings(const lab::Run& run, const lab::Row& row, text::Style style) {
  const std::optional<model::Ceiling> written = lab::written_ceiling(run, row);
  const std::optional<model::Ceiling> compiled = lab::compiled_ceiling(run, row);
  if (!written) return "";
  const model::Ceiling& ceiling = compiled ? *compiled : *written;
  constexpr int kBar = 50;
  std::string text = heading(
      std::string("Why it is this fast: what each unit of ") + run.gpu.name + " needs, " +
          (compiled ? "as compiled" : "as written"),
      style);
  for (int unit = 0; unit < model::kUnits; ++unit) {
    const double share = ceiling.ms[unit] / ceiling.ms[ceiling.bound_by];
    const int length = static_cast<int>(std::lround(share * kBar));
    text += text::repeated(" ", kIndent) + text::pad_right(model::kUnitNames[unit], kLabel) +
            text::pad_right(text::repeated("█", length), kBar) + " " +
            text::pad_left(text::significant(ceiling.ms[unit]), 8) + " ms" +
            (unit == ceiling.bound_by ? " <- most" : "") + "\n";
  }
  const auto bound = [](const model::Ceiling& c) {
    return text::significant(c.tflops) + " TFLOP/s, bound by " +
           std::string(model::kUnitNames[c.bound_by]);
  };
  if (compiled) text += fact("ceiling", bound(*compiled));
  text += fact("as written", bound(*written) + ", if each access and product were one instruction");
  text += fact(
      "no overlap", text::significant(ceiling.no_overlap_tflops) +
                        " TFLOP/s, if a block copied, and then multiplied, and never both "
                        "at a time");
  const lab::Grid of_blocks = lab::grid(run, *row.variant);
  const long long count = of_blocks.x * of_blocks.y;
  text += fact(
      "tail", text::grouped(count) + text::printed(
                                         " blocks on %d SMs, at most %lld on one: an SM is "
                                         "busy %.0f %% of the time",
                                         run.gpu.sms, (count + run.gpu.sms - 1) / run.gpu.sms,
                                         100 * ceiling.busy_share));
  const bool on_an_sm = ceiling.bound_by != model::kL2 && ceiling.bound_by != model::kDram;
  if (on_an_sm && ceiling.busy_share < 1) {
    text += fact(
        "", "with blocks enough for all SMs: " +
                text::significant(ceiling.tflops / ceiling.busy_share) + " TFLOP/s");
  }
  if (const auto ratio = lab::ceiling_ratio(run, row)) {
    text += fact("measured", text::printed("%.0f %% of the ceiling", 100 * *ratio));
  }
  return text;
}

std::string timing(const lab::Run& run, const lab::Row& row, text::Style style) {
  std::string text = heading("Time and error", style);
  if (!row.time) {
    return text + fact(
                      "traced",
                      run.gpu_present
                          ? "This row did not run on the GPU."
                          : "No GPU here: the kernel ran on the CPU, and was counted, not timed.");
  }
  const lab::Timing& time = *row.time;
  text += fact(
      "median",
      text::significant(time.median_ms) + " ms" +
          text::printed(
              " of %d runs (%s to %s ms)", time.repetitions, text::significant(time.min_ms).c_str(),
              text::significant(time.max_ms).c_str()) +
          (time.partial ? ", scaled up from the first rows of C" : ""));
  if (const auto rate = lab::tflops(run, row)) {
    text += fact(
        "rate", "2*M*N*K operations: " +
                    (*rate < 0.1 ? text::printed("%.4f", *rate) : text::significant(*rate)) +
                    " TFLOP/s");
  }
  if (const auto ratio = lab::cublas_ratio(run, row))
    text += fact("", text::brief(100 * *ratio) + " % of cuBLAS fp32");
  if (const auto ratio = lab::times_the_stage_before(run, row)) {
    text += fact("", text::brief(*ratio) + " times as fast as the stage before");
  }
  return text;
}

std::string result(const lab::Row& row, text::Style style) {
  if (!row.error) return "";
  const model::Error& error = *row.error;
  std::string text = fact(
      "error", text::scientific(error.relative) +
                   " of the reference's norm (Frobenius); the largest of one element " +
                   text::scientific(error.max_abs));
  if (row.cublas_error)
    text += fact("to cuBLAS", text::scientific(*row.cublas_error) + " of its norm");
  if (error.bound_ok) {
    text += text::repeated(" ", kIndent) + text::pad_right("bound", kLabel) +
            text::coloured("ok", text::Colour::green, style) +
            ": every element is within what rounding can do to a sum of that length\n";
  } else {
    text += text::repeated(" ", kIndent) + text::pad_right("bound", kLabel) +
            text::coloured("FAIL", text::Colour::red, style) +
            ": an element is farther off than rounding can explain\n";
    if (error.first) {
      text += fact(
          "", text::printed(
                  "C[%lld][%lld] is %.9g, expected %.9g", static_cast<long long>(error.first->row),
                  static_cast<long long>(error.first->column), error.first->value,
                  error.first->expected));
    }
  }
  return text;
}

std::string source(const lab::Row& row, text::Style style, bool folded, int picture_rows) {
  const std::string title = heading(
      std::string("What each line asks of memory (in the traced blocks)") +
          (folded ? ", the others left out" : ""),
      style);
  const std::string annotated = annotated_source(row, style, folded);
  if (annotated.empty()) {
    return title + verdict("The lines are not known: there is no addr2line (of binutils) here.");
  }
  const std::string picture = worst_request(row, style, picture_rows);
  return title + annotated + (picture.empty() ? "" : "\n" + picture);
}

std::string tiles(const lab::Run& run, const lab::Row& row, text::Style style, bool folded) {
  std::string text = launch_shape(run, row, style, folded) + "\n";
  for (const std::string& line : pictures::tile_picture(*row.variant, run.M, run.N)) {
    text += (line.empty() ? "" : text::repeated(" ", kIndent)) + line + "\n";
  }
  return text;
}

std::vector<std::string> source_lines(const lab::Row& row, int first, int last) {
  std::vector<std::string> lines;
  std::istringstream source(row.source);
  std::string line;
  for (int number = 1; number <= last && std::getline(source, line); ++number) {
    if (number >= first) lines.push_back(line);
  }
  return lines;
}

// Which lines stand before a kernel's first statement or say what divides what: parameters of the
// template and the function, and static_assert.
std::vector<bool> head_lines(const std::vector<std::string>& kernel) {
  std::vector<bool> head(kernel.size(), false);
  bool in_signature = true, in_assert = false;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    in_assert = in_assert || kernel[i].find("static_assert") != std::string::npos;
    head[i] = in_signature || in_assert;
    if (kernel[i].ends_with("{")) in_signature = false;
    if (kernel[i].ends_with(";")) in_assert = false;
  }
  return head;
}

// The lines that carry the idea: the kernel beside that of the stage before. At most `most` lines
// of them; the name of the kernel is no difference.
std::string diff(const lab::Row& row, text::Style style, bool folded, int most) {
  if (row.before_first == 0 || row.source_first == 0) return "";
  const std::string title = heading(
      text::printed("What changed since stage %d, ", row.before_number) + row.before_name, style);
  std::vector<std::string> before = source_lines(row, row.before_first, row.before_last);
  const std::vector<std::string> after = source_lines(row, row.source_first, row.source_last);
  const auto plain_name = [](std::string_view name) { return name.substr(0, name.find('<')); };
  const std::string old_name(plain_name(row.before_kernel)),
      name(plain_name(lab::kernel_name(row)));
  for (std::string& line : before) {
    const std::size_t at = line.find(" " + old_name + "(");
    if (at != line.npos) line.replace(at + 1, old_name.size(), name);
  }
  std::vector<DiffLine> all = line_diff(before, after);
  if (folded) {
    const std::vector<bool> old_head = head_lines(before), head = head_lines(after);
    std::erase_if(all, [&](const DiffLine& line) {
      return line.after > 0 ? head[line.after - 1] : old_head[line.before - 1];
    });
  }
  std::vector<DiffLine> shown = shortened_diff(all, 1);
  if (static_cast<int>(shown.size()) > most) shown = shortened_diff(all, 0);
  if (static_cast<int>(shown.size()) > most) {
    std::erase_if(shown, [](const DiffLine& line) { return line.after == 0; });
  }
  const int left_out = static_cast<int>(shown.size()) - most;
  if (left_out > 0) shown.resize(std::max(most - 1, 0));
  std::string text = title;
  for (const DiffLine& line : shown) {
    if (line.before == 0 && line.after == 0) {
      text += "        …\n";
      continue;
    }
    const int number =
        line.after > 0 ? row.source_first + line.after - 1 : row.before_first + line.before - 1;
    const char sign = line.before == 0 ? '+' : line.after == 0 ? '-' : ' ';
    const std::string shown_line =
        text::shortened(text::printed("%5d %c ", number, sign) + line.text, text::kReportWidth);
    text += (sign == ' '
                 ? shown_line
                 : text::coloured(
                       shown_line, sign == '+' ? text::Colour::green : text::Colour::red, style)) +
            "\n";
  }
  if (left_out > 0) {
    text += "  ... and more: --section diff shows every line that changed\n";
  }
  return text;
}

std::string questions(const lab::Run& run, const lab::Row& row, text::Style style, bool answered) {
  if (!row.stage || row.stage->questions.empty()) return "";
  const std::vector<model::Question>& asked = row.stage->questions;
  std::string text = heading(
      answered ? "Questions, and their answers"
               : "Questions (--section answers works them out with your numbers)",
      style);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    text += text::labelled(text::printed("  %zu", i + 1), 2 * kIndent, asked[i].text);
    if (!answered) continue;
    const std::string answer = answer_of(asked[i], run, row);
    if (!answer.empty()) text += verdict("Answer: " + answer + ".");
    text += verdict(asked[i].because);
  }
  return text;
}

// A part of an explanation: a blank line, a heading and lines, or a table of Markdown.
struct Part {
  std::string text;
  enum { plain, prose, diff, table } kind = plain;
};

struct Section {
  const char* name;
  std::vector<Part> parts;
};

// What one thread does, as a table of Markdown.
std::string counts_table(const lab::Run& run, const lab::Row& row) {
  const PredictedCounts expected = predicted(run, row).value_or(PredictedCounts{});
  std::string text =
      "\nWhat one thread does\n\n"
      "| of one thread | unit | formula | predicted | traced min | traced max |\n"
      "|---|---|---|---:|---:|---:|\n";
  std::string_view what;
  for (const Figure& figure : kFigures) {
    if (*figure.what != '\0') what = figure.what;
    const model::PerThread& traced = (*row.counts).*figure.of.*figure.traced;
    if (expected.*figure.predicted == 0 && traced.max == 0) continue;
    const char* formula = row.stage->predicted.*figure.formula;
    text += "| " + std::string(what) + " | " + figure.unit + " | `" + (formula ? formula : "0") +
            "` | " + text::exact(expected.*figure.predicted) + " | " + text::grouped(traced.min) +
            " | " + text::grouped(traced.max) + " |\n";
  }
  return text;
}

constexpr const char* kSections[] = {"idea",      "diff",    "kernel", "tiles",     "counts",
                                     "occupancy", "ceiling", "time",   "questions", "answers"};
constexpr int kMostLines = 150;  // of a stage that is explained as a whole
constexpr int kMostOfDiff = 40;

int lines_in(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

// How long the sections are that can be shortened.
struct Size {
  bool folded;  // short enough for all sections together ...
  int picture_rows;
  int of_diff;  // lines of it; 0: none
};

std::vector<Section> sections_of(
    const lab::Run& run, const lab::Row& row, text::Style style, const Explaining& how, Size size) {
  const bool folded = size.folded;
  const bool is_stage = row.stage && row.variant;
  std::vector<Section> sections;
  for (const char* name : kSections) sections.push_back({name, {}});
  const auto add = [&](std::string_view name, std::string text, auto kind) {
    if (text.empty()) return;
    for (Section& section : sections) {
      if (name == section.name) section.parts.push_back({std::move(text), kind});
    }
  };
  if (!row.launch) add("idea", idea(row), Part::prose);
  if (is_stage) {
    if (size.of_diff > 0) add("diff", diff(row, style, folded, size.of_diff), Part::diff);
    add("tiles", tiles(run, row, style, folded), Part::plain);
    const bool as_table = how.markdown && row.counts;
    add("counts", as_table ? counts_table(run, row) : counts_per_thread(run, row, style),
        as_table ? Part::table : Part::plain);
    add("counts", formulas(run, row, style, folded), Part::plain);
    add("questions", questions(run, row, style, false), Part::plain);
    add("answers", questions(run, row, style, true), Part::plain);
  } else if (row.launch && row.variant && row.counts) {
    add("tiles", own_launch_shape(run, row, style), Part::plain);
    add("counts", counts_per_thread(run, row, style), Part::plain);
  } else {
    add("tiles", heading("The problem", style) + problem(run), Part::plain);
  }
  if (row.variant && row.counts) {
    add("counts", warps(*row.counts, style), Part::plain);
    add("kernel", source(row, style, folded, size.picture_rows), Part::plain);
  }
  if (row.occupancy) add("occupancy", occupancy_by_line(run, row, style), Part::plain);
  if (row.variant) {
    // Where even the pictures had to shrink, the ceilings must do without what they rest on.
    if (!folded || size.picture_rows > 1) {
      add("ceiling", as_compiled(run, row, style), Part::plain);
    }
    add("ceiling",
        ceilings(run, row, style) +
            (is_stage && row.counts ? explain_in_flight(run, row) : std::string()),
        Part::plain);
  }
  add("time", timing(run, row, style) + result(row, style), Part::plain);
  return sections;
}

// A diff as Markdown colours it: the sign stands in the first column, the number after it.
std::string signs_first(const std::string& body) {
  constexpr std::size_t kSign = 6;
  std::string text;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    const bool numbered = line.size() > kSign && std::isdigit(static_cast<unsigned char>(line[4]));
    text += (numbered ? line[kSign] + line.substr(0, kSign) + line.substr(kSign + 1) : line) + "\n";
  }
  return text;
}

// A heading of the second level, and the lines as they stand in a fence of code.
std::string as_markdown(const Part& part) {
  if (part.kind == Part::prose) return "\n" + part.text;
  const std::size_t end = part.text.find('\n', 1);
  const std::string head = part.text.substr(1, end - 1), body = part.text.substr(end + 1);
  if (part.kind == Part::table) return "\n## " + head + "\n" + body;
  return "\n## " + head + "\n\n```" + (part.kind == Part::diff ? "diff" : "text") + "\n" +
         (part.kind == Part::diff ? signs_first(body) : body) + "```\n";
}

void print_lines(std::FILE* out, const std::string& text) {
  // Columns end in spaces where their last cell is empty.
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::fprintf(
        out, "%s\n", text::without_trailing_spaces(text.substr(begin, end - begin)).c_str());
  }
}

}  // namespace

std::span<const char* const> explained_sections() {
  return kSections;
}

bool explain(
    std::FILE* out, const lab::Run& run, const lab::Row& row, text::Style style,
    const Explaining& how) {
  const auto wanted = [&](std::string_view name) {
    if (how.sections.empty()) return name != "answers";
    return std::find(how.sections.begin(), how.sections.end(), name) != how.sections.end();
  };
  const bool folded = how.sections.empty() && !row.launch;
  constexpr int kManyRows = 8, kFewRows = 3;
  Size size{folded, kManyRows, INT_MAX};
  std::vector<Section> sections;
  // What the other sections leave of the lines is the diff's. Where that is little, pictures
  // shrink.
  for (size.picture_rows = folded ? kFewRows : kManyRows; size.picture_rows > 0;
       --size.picture_rows) {
    if (folded) size.of_diff = 0;
    sections = sections_of(run, row, style, how, size);
    if (!folded) break;
    int others = lines_in(title(row, style));
    for (const Section& section : sections) {
      if (!wanted(section.name)) continue;
      for (const Part& part : section.parts) others += lines_in(part.text);
    }
    constexpr int kHeading = 2, kEnough = 14;
    size.of_diff = std::clamp(kMostLines - others - kHeading, 0, kMostOfDiff);
    sections = sections_of(run, row, style, how, size);
    if (size.of_diff >= kEnough) break;
  }
  const auto print = [&](std::string_view name) {
    for (const Section& section : sections) {
      if (name != section.name || !wanted(name)) continue;
      for (const Part& part : section.parts) {
        print_lines(out, how.markdown ? as_markdown(part) : part.text);
      }
    }
  };
  const std::string head = title(row, style);
  print_lines(out, how.markdown ? "# " + head.substr(0, head.find('\n') + 1) : head);
  if (!how.ask_from || !row.stage || !row.variant || !row.counts) {
    for (const char* name : kSections) print(name);
    return true;
  }
  // What holds no count comes before the reader's predictions.
  constexpr const char* kBefore[] = {"idea", "diff", "tiles"};
  for (const char* name : kBefore) print(name);
  if (!ask_predictions(how.ask_from, out, run, row)) return false;
  for (const char* name : kSections) {
    if (std::find(std::begin(kBefore), std::end(kBefore), std::string_view(name)) ==
        std::end(kBefore)) {
      print(name);
    }
  }
  return true;
}

}  // namespace report
