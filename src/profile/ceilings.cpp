// How busy each unit of the GPU was: the model's share beside ncu's count.
#include <algorithm>
#include <array>
#include <cmath>

#include "lab/rates.h"
#include "profile/ncu.h"
#include "profile/profile.h"
#include "report/words.h"
#include "text/numbers.h"

namespace profile {

namespace {

constexpr std::string_view kData =
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed";

// Indices of kUnitMetrics behind the units'.
constexpr std::size_t kCycles = model::kUnits, kBlocks = model::kUnits + 1;

// By UnitIndex, then the cycles and the number of blocks. ncu's own percentage for the L2 cache is
// of a peak that no kernel comes near, so its sectors are compared with the rate in the model. L1
// and shared memory share a data stage; ncu counts the whole stage and shared memory's part, and
// the rest is L1's.
constexpr std::array<std::string_view, model::kUnits + 2> kUnitMetrics = {
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    kData,
    "lts__t_sectors.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__cycles_elapsed.max",
    "launch__grid_size"};

constexpr double kClose = 10;  // points between a predicted share and ncu's

constexpr double kLeast = 0.6, kMost = 1.0;  // of the ceiling

using Shares = std::array<double, model::kUnits>;  // in percent of the time

// Nothing if the kernel is not there with the row's number of blocks: then ncu saw another problem,
// whose shares do not belong beside this one's ceiling.
std::optional<Shares> counted_shares(
    const std::vector<NcuLaunch>& launches, const lab::Row& row, const model::Gpu& gpu) {
  std::optional<Shares> shares;
  for (const NcuLaunch& launch : launches) {
    bool whole = true;  // a GPU without tensor cores says nothing about them
    for (std::size_t i = 0; i < launch.values.size(); ++i) {
      whole &= i == model::kTensor || launch.values[i].has_value();
    }
    if (!whole || !same_kernel(launch.kernel, lab::kernel_name(row))) continue;
    if (*launch.values[kBlocks] != static_cast<double>(row.counts->blocks)) continue;
    shares.emplace();  // the last of several launches, when clocks and caches are warm
    for (int unit = 0; unit < model::kUnits; ++unit)
      (*shares)[unit] = launch.values[unit].value_or(0);
    (*shares)[model::kL1] -= (*shares)[model::kSmem];
    constexpr double kSectorBytes = 32;
    (*shares)[model::kL2] *=
        100 * kSectorBytes / (*launch.values[kCycles] * model::l2_bytes_per_clock(gpu));
  }
  return shares;
}

// The units that have a column: the tensor cores only if a kernel of the run uses them.
std::vector<model::UnitIndex> shown_units(const lab::Run& timed) {
  const bool tensor = std::any_of(timed.rows.begin(), timed.rows.end(), [](const lab::Row& row) {
    return row.variant && row.variant->multiplier != model::Multiplier::ffma;
  });
  std::vector<model::UnitIndex> units;
  for (int unit = 0; unit < model::kUnits; ++unit) {
    if (unit != model::kTensor || tensor) units.push_back(static_cast<model::UnitIndex>(unit));
  }
  return units;
}

// "10 register pipeline", in a column that leaves room for those of the units.
std::string name_beside(const std::string& number_and_name, std::size_t units) {
  const int width = units == model::kUnits ? 18 : 22;
  return text::pad_right(text::shortened(number_and_name, width), width);
}

std::string stage_beside(const lab::Row& row, std::size_t units) {
  return name_beside(std::to_string(row.number) + " " + row.name, units);
}

model::UnitIndex busiest(const Shares& shares) {
  return static_cast<model::UnitIndex>(
      std::max_element(shares.begin(), shares.end()) - shares.begin());
}

// The shares that the model of waiting predicts, beside ncu's. Its rows are indented, so that a
// search for the rows of the table above does not find them.
std::string waiting_table(const std::vector<NcuLaunch>& launches, const lab::Run& timed) {
  const std::vector<model::UnitIndex> units = shown_units(timed);
  const std::size_t n = units.size();
  std::string text = " " + name_beside("", n) + text::printed(" %5s %6s   ", "TFLOP", "pre-") +
                     "busy % of each unit: predicted with waiting, by ncu\n" + " " +
                     name_beside("# stage", n) + text::printed(" %5s %6s", "/s", "dicted");
  for (const model::UnitIndex unit : units) text += text::pad_left(model::kUnitNames[unit], 8);
  text += "  off\n";
  int stages = 0, close = 0;
  for (const lab::Row& row : timed.rows) {
    const std::optional<model::Waiting> waiting = lab::with_waiting(timed, row);
    const std::optional<double> tflops = lab::tflops(timed, row);
    if (!waiting || !tflops) continue;
    const std::optional<Shares> counted = counted_shares(launches, row, timed.gpu);
    if (!counted) continue;
    ++stages;
    const auto busy = model::busy_on_average(*waiting, *lab::compiled_ceiling(timed, row));
    text += " " + stage_beside(row, n) +
            text::printed(
                " %5s %6s", text::significant(*tflops).c_str(),
                text::significant(waiting->tflops).c_str());
    double off = 0;
    for (const model::UnitIndex unit : units) {
      text += text::printed(" %3.0f %3.0f", 100 * busy[unit], (*counted)[unit]);
      off = std::max(off, std::abs(100 * busy[unit] - (*counted)[unit]));
    }
    close += off <= kClose;
    text += text::printed(" %4.0f\n", off);
  }
  return text +
         text::printed(
             "\nFor %d of %d stages every unit is predicted within %.0f points.\n", close, stages,
             kClose) +
         text::labelled("off", 8, "the largest difference between prediction and ncu, in points");
}

}  // namespace

std::string ncu_unit_metrics() {
  return joined_metrics(kUnitMetrics);
}

bool print_units(std::FILE* out, std::istream& ncu_csv, const lab::Run& timed) {
  constexpr const char* kHead = " %5s %6s %3s";
  const std::vector<model::UnitIndex> units = shown_units(timed);
  const std::size_t n = units.size();
  const std::vector<NcuLaunch> launches = read_ncu(ncu_csv, kUnitMetrics);
  std::string text = report::about(timed) + "\n";
  text += name_beside("", n) + text::printed(kHead, "TFLOP", "ceil-", "%") +
          "   % of the time that a unit is busy: by the model, by ncu\n";
  text += name_beside("# stage", n) + text::printed(kHead, "/s", "ing", "of");
  for (const model::UnitIndex unit : units) text += text::pad_left(model::kUnitNames[unit], 8);
  text += " bound by\n";
  int stages = 0, agree = 0, within = 0;
  for (const lab::Row& row : timed.rows) {
    const std::optional<model::Ceiling> ceiling = lab::compiled_ceiling(timed, row);
    const std::optional<double> ratio = lab::ceiling_ratio(timed, row);
    if (!ceiling || !ratio) continue;
    ++stages;
    within += *ratio >= kLeast && *ratio <= kMost;
    text += stage_beside(row, n) + text::printed(
                                       " %5s %6s %3.0f",
                                       text::significant(*lab::tflops(timed, row)).c_str(),
                                       text::significant(ceiling->tflops).c_str(), 100 * *ratio);
    const std::optional<Shares> counted = counted_shares(launches, row, timed.gpu);
    for (const model::UnitIndex unit : units) {
      text += text::printed(" %3.0f", 100 * ceiling->ms[unit] / row.time->median_ms) +
              (counted ? text::printed(" %3.0f", (*counted)[unit]) : "   –");
    }
    const std::string_view named = model::kUnitNames[ceiling->bound_by];
    if (!counted) {
      text += " " + std::string(named) + ", and ncu did not see this launch  ≠\n";
      continue;
    }
    const bool same = busiest(*counted) == ceiling->bound_by;
    agree += same;
    text += " " + std::string(named) +
            (same ? " =" : " ≠ " + std::string(model::kUnitNames[busiest(*counted)])) + "\n";
  }
  text += text::printed(
              "\n%d of %d stages lie between %.1f and %.1f of their ceilings; ", within, stages,
              kLeast, kMost) +
          text::printed("for %d of %d the unit named is ncu's busiest.\n", agree, stages);
  text += text::labelled(
      "model", 8,
      "the time that the unit needs for its work, as a share of the measured time; the "
      "largest is the ceiling's unit");
  text += "ncu     percent of the unit's maximum, over the whole launch:\n";
  for (const model::UnitIndex unit : units) {
    const std::string_view metric = kUnitMetrics[unit];
    text += text::pad_right("", 8) + text::pad_right(model::kUnitNames[unit], 7) +
            std::string(metric.substr(0, metric.find('.'))) +
            (unit == model::kL1   ? ", minus SMEM's"
             : unit == model::kL2 ? text::printed(
                                        ", 32 bytes each, of %.0f bytes per cycle",
                                        model::l2_bytes_per_clock(timed.gpu))
                                  : "") +
            "\n";
  }
  text += "\n" + waiting_table(launches, timed);
  std::fputs(text.c_str(), out);
  return stages > 0 && agree == stages && within == stages;
}

}  // namespace profile
