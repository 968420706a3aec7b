// What the caches did in every kernel that ncu saw.
#include <algorithm>
#include <array>

#include "model/refusal.h"
#include "profile/ncu.h"
#include "profile/profile.h"
#include "text/numbers.h"

namespace profile {

namespace {

enum Index {
  kBlocks,
  kSharedBytes,
  kNanoseconds,
  kL1Percent,
  kL2Sectors,
  kL2Hits,
  kDramRead,
  kWaitForLoads,
  kWaitForQueue,
  kIndices,
};

// L2's own hit rate would also count what moves between its two halves, so hits are taken from the
// sectors that L1 asks for.
constexpr std::array<std::string_view, kIndices> kCacheMetrics = {
    "launch__grid_size",
    "launch__shared_mem_per_block_dynamic",
    "gpu__time_duration.sum",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "dram__bytes_read.sum",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"};

bool alike(const NcuLaunch& a, const NcuLaunch& b) {
  return a.kernel == b.kernel && a.values[kBlocks] == b.values[kBlocks] &&
         a.values[kSharedBytes] == b.values[kSharedBytes];
}

// The last of the launches that are alike, when the clock no longer rises, in the order of the
// first ones.
std::vector<NcuLaunch> distinct(const std::vector<NcuLaunch>& launches) {
  std::vector<NcuLaunch> kept;
  for (const NcuLaunch& launch : launches) {
    const auto before = std::find_if(
        kept.begin(), kept.end(), [&](const NcuLaunch& other) { return alike(launch, other); });
    if (before == kept.end()) {
      kept.push_back(launch);
    } else {
      *before = launch;
    }
  }
  return kept;
}

constexpr int kName = 37;
constexpr std::array<int, 8> kWidths = {8, 8, 6, 9, 6, 9, 8, 6};

std::string line(const std::string& name, const std::array<std::string, 8>& cells) {
  std::string text = text::pad_right(text::shortened(name, kName), kName);
  for (std::size_t i = 0; i < cells.size(); ++i) text += text::pad_left(cells[i], kWidths[i]);
  return text::without_trailing_spaces(text) + "\n";
}

std::string row(const NcuLaunch& launch) {
  const auto cell = [&](Index index, double scale, std::string (*words)(double)) {
    const std::optional<double> value = launch.values[index];
    return value ? words(*value * scale) : std::string("–");
  };
  const auto percent = [](double value) { return text::printed("%.1f", value); };
  const auto whole = [](double value) { return text::grouped(static_cast<std::int64_t>(value)); };
  const std::optional<double> sectors = launch.values[kL2Sectors], hits = launch.values[kL2Hits];
  return line(
      short_name(launch.kernel),
      {cell(kBlocks, 1, whole), cell(kNanoseconds, 1e-6, text::significant),
       cell(kL1Percent, 1, percent), cell(kL2Sectors, 1e-6, text::significant),
       sectors && hits && *sectors > 0 ? percent(100 * *hits / *sectors) : "–",
       cell(kDramRead, 1e-6, text::significant), cell(kWaitForLoads, 1, percent),
       cell(kWaitForQueue, 1, percent)});
}

}  // namespace

std::string ncu_cache_metrics() {
  return joined_metrics(kCacheMetrics);
}

void print_caches(std::FILE* out, std::istream& ncu_csv) {
  const std::vector<NcuLaunch> launches = distinct(read_ncu(ncu_csv, kCacheMetrics));
  if (launches.empty()) {
    throw model::Refusal("ncu's output has no launch; give the output of a run with --device gpu");
  }
  std::string text =
      "\nThe caches, as ncu counts them; before each launch it empties them.\n\n" +
      line("", {"", "time", "L1", "L1 to L2", "L2", "DRAM", "waiting", "for a"}) +
      line("kernel", {"blocks", "ms", "hit %", "Msectors", "hit %", "MB read", "load", "place"});
  for (const NcuLaunch& launch : launches) text += row(launch);
  constexpr int kTerm = 9;
  text += "\n" + text::labelled("time", kTerm, "under ncu; compare it only within this table") +
          text::labelled("L1 hit %", kTerm, "of the 32-byte sectors that L1 is asked for") +
          text::labelled(
              "L1 to L2", kTerm,
              "millions of sectors that L1 asks L2 for, loads and stores; L2 hit % is of these") +
          text::labelled(
              "waiting", kTerm,
              "warps of a scheduler that wait while it issues an instruction, on average: for the "
              "result of a load (long scoreboard), or for a place in L1's queue (LG throttle)");
  std::fputs(text.c_str(), out);
}

}  // namespace profile
