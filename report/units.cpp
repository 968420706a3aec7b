// How busy each unit of the GPU was: the model's share beside ncu's count.
#include <algorithm>
#include <array>

#include "report/figures.h"
#include "report/ncu.h"
#include "report/numbers.h"
#include "report/profile.h"

namespace {

constexpr std::string_view kData =
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed";

// By UnitIndex; of the data stage that L1 and shared memory have in common ncu counts the whole and
// shared memory's part, and the rest is L1's.
constexpr std::array<std::string_view, kUnits> kUnitMetrics = {
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    kData,
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed"};

constexpr double kLeast = 0.6, kMost = 1.0;  // of the ceiling

using Shares = std::array<double, kUnits>;  // in percent of the time

std::optional<Shares> counted_shares(const std::vector<NcuLaunch>& launches, const char* kernel) {
  std::optional<Shares> shares;
  for (const NcuLaunch& launch : launches) {
    const bool whole = std::all_of(launch.values.begin(), launch.values.end(),
                                   [](const auto& value) { return value.has_value(); });
    if (!whole || !same_kernel(launch.kernel, kernel)) continue;
    shares.emplace();  // the last launch of several, when clocks and caches are warm
    for (int unit = 0; unit < kUnits; ++unit) (*shares)[unit] = *launch.values[unit];
    (*shares)[kL1] -= (*shares)[kSmem];
  }
  return shares;
}

UnitIndex busiest(const Shares& shares) {
  return static_cast<UnitIndex>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

}  // namespace

std::string ncu_unit_metrics() {
  return joined_metrics(kUnitMetrics);
}

bool print_units(std::FILE* out, std::istream& ncu_csv, const Run& timed) {
  constexpr const char* kHead = "%-2s%-21s %6s %7s %5s ";
  const std::vector<NcuLaunch> launches = read_ncu(ncu_csv, kUnitMetrics);
  std::string text = about(timed) + "\n";
  text += printed(kHead, "", "", "TFLOP", "TFLOP/s", "% of") +
          "  % of the time that a unit is busy: by the model, by ncu\n";
  text += printed(kHead, "#", "stage", "/s", "ceiling", "ceil.");
  for (const std::string_view unit : kUnitNames) text += pad_left(unit, 8);
  text += "  bound by\n";
  int stages = 0, agree = 0, within = 0;
  for (const Row& row : timed.rows) {
    const std::optional<Ceiling> ceiling = compiled_ceiling(timed, row);
    const std::optional<double> ratio = ceiling_ratio(timed, row);
    if (!ceiling || !ratio) continue;
    ++stages;
    within += *ratio >= kLeast && *ratio <= kMost;
    text += printed("%-2d", row.number) + pad_right(shortened(row.name, 21), 21) +
            printed(" %6s %7s %5.0f ", significant(*tflops(timed, row)).c_str(),
                    significant(ceiling->tflops).c_str(), 100 * *ratio);
    const std::optional<Shares> counted = counted_shares(launches, kernel_name(row));
    for (int unit = 0; unit < kUnits; ++unit) {
      text += printed(" %3.0f", 100 * ceiling->ms[unit] / row.time->median_ms) +
              (counted ? printed(" %3.0f", (*counted)[unit]) : "   –");
    }
    const std::string_view named = kUnitNames[ceiling->bound_by];
    if (!counted) {
      text += "  " + std::string(named) + ", and ncu did not see this kernel  ≠\n";
      continue;
    }
    const bool same = busiest(*counted) == ceiling->bound_by;
    agree += same;
    text += "  " + std::string(named) +
            (same ? " =" : " ≠ " + std::string(kUnitNames[busiest(*counted)])) + "\n";
  }
  text += printed("\n%d of %d stages lie between %.1f and %.1f of their ceilings; ", within, stages,
                  kLeast, kMost) +
          printed("for %d of %d the unit named is ncu's busiest.\n", agree, stages);
  text += labelled("model", 8,
                   "what the unit needs for its share of the work, of the measured time; the "
                   "largest is the ceiling's unit");
  text += "ncu     percent of what the unit can do at most, over the whole launch:\n";
  for (int unit = 0; unit < kUnits; ++unit) {
    const std::string_view metric = kUnitMetrics[unit];
    text += pad_right("", 8) + pad_right(kUnitNames[unit], 7) +
            std::string(metric.substr(0, metric.find(".avg"))) +
            (unit == kL1 ? ", less SMEM's" : "") + "\n";
  }
  std::fputs(text.c_str(), out);
  return stages > 0 && agree == stages && within == stages;
}
