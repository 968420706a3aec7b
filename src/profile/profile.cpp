#include "profile/profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "lab/run.h"
#include "model/refusal.h"
#include "show/report/known.h"
#include "show/report/words.h"
#include "text/numbers.h"

namespace profile {

namespace {

// How far the wavefronts of cp.async may be apart: the hardware's own count differs a little from
// launch to launch, and the rule for tiles that reach past an edge is not exact (warp_access.h).
constexpr double kTolerance = 0.1;

enum class Compare {
  always,
  if_wide,  // if the source loads several words at once; otherwise the compiler may
  if_tf32,  // if tensor cores multiply tf32
};

// A counter of the GPU and the trace's count of the same thing, per instruction. The trace counts a
// cp.async (LDGSTS) and a box of the copy engine among both the global loads and the shared stores,
// an ldmatrix (LDSM) among the shared loads, and an atomic on global memory among both the loads
// and the stores; the GPU counts them separately.
struct Metric {
  const char* count;
  std::string_view name;
  std::int64_t (*traced)(const model::Counts&);
  double tolerance = 0;
  Compare compare = Compare::always;
  double model::SharedLoads::*as_compiled = nullptr;
};

constexpr Metric kMetrics[] = {
    {"LDG requests", "smsp__sass_inst_executed_op_global_ld.sum",
     [](const model::Counts& c) {
       return c.gmem_loads.requests - c.async_gmem.requests - c.atomic_requests;
     }},
    {"LDG sectors", "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
     [](const model::Counts& c) {
       return c.gmem_loads.pieces - c.async_gmem.pieces - c.atomic_sectors;
     }},
    {"STG requests", "smsp__sass_inst_executed_op_global_st.sum",
     [](const model::Counts& c) { return c.gmem_stores.requests - c.atomic_requests; }},
    {"STG sectors", "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
     [](const model::Counts& c) { return c.gmem_stores.pieces - c.atomic_sectors; }},
    {"LDGSTS requests", "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
     [](const model::Counts& c) { return c.async_gmem.requests - c.box_requests; }},
    {"LDGSTS sectors", "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
     [](const model::Counts& c) { return c.async_gmem.pieces - c.box_sectors; }},
    {"LDGSTS wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
     [](const model::Counts& c) { return c.async_smem.pieces; }, kTolerance},
    {"TMA loads", "sm__sass_inst_executed_op_tma_ld.sum",
     [](const model::Counts& c) { return c.box_requests + c.boxes_outside; }},
    {"TMA load sectors", "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
     [](const model::Counts& c) { return c.box_sectors_delivered; }},
    {"STS requests", "smsp__sass_inst_executed_op_shared_st.sum",
     [](const model::Counts& c) { return c.smem_stores.requests - c.async_smem.requests; }},
    {"STS wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     [](const model::Counts& c) { return c.smem_stores.pieces - c.async_smem.pieces; }},
    {"LDS requests", "smsp__sass_inst_executed_op_shared_ld.sum",
     [](const model::Counts& c) { return c.smem_loads.requests - c.ldmatrix_requests; }, 0,
     Compare::if_wide, &model::SharedLoads::requests},
    {"LDS wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
     [](const model::Counts& c) { return c.smem_loads.pieces - c.ldmatrix_wavefronts; }, 0,
     Compare::if_wide, &model::SharedLoads::wavefronts},
    {"LDSM requests", "smsp__inst_executed_op_ldsm.sum",
     [](const model::Counts& c) { return c.ldmatrix_requests; }},
    {"LDSM wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
     [](const model::Counts& c) { return c.ldmatrix_wavefronts; }},
    {"tensor operations", "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
     [](const model::Counts& c) { return 2 * c.mma_products; }, 0, Compare::if_tf32},
};

// Those of a table of metrics.
template <class Metrics>
std::vector<std::string_view> names_in(const Metrics& metrics) {
  std::vector<std::string_view> names;
  for (const auto& metric : metrics) {
    if constexpr (requires { metric.name; }) {
      names.push_back(metric.name);
    } else {
      names.push_back(metric);
    }
  }
  return names;
}

constexpr int kCount = 20;  // columns
const std::vector kWidths = {2, -kCount, 16, 16, 16, 16, -1};

// For a user's kernel; nothing if one of its lines is not known.
std::optional<model::SharedLoads> whole_launch(const model::CompiledLoads& loads) {
  const model::CompiledLine all = loads.all();
  if (!all.compiled_requests || !all.compiled_wavefronts) return std::nullopt;
  return model::SharedLoads{
      .requests = static_cast<double>(*all.compiled_requests),
      .wavefronts = static_cast<double>(*all.compiled_wavefronts)};
}

// Whether the source itself loads several words of shared memory at once.
bool loads_wide(const model::Counts& counts) {
  return counts.smem_loads.floats.sum != counts.smem_loads.accesses.sum;
}

// Whether that is a launch in which a stage's kernel stands in for another's and returns at once:
// it stores nothing.
bool returns_at_once(const NcuLaunch& launch) {
  constexpr std::size_t kStores = 2;
  static_assert(std::string_view(kMetrics[kStores].count) == "STG requests");
  return launch.values[kStores] == 0.0;
}

// The launches in ncu's output to set beside the row's counts: of a stage those that differ,
// because a warm-up and its repetitions are equal, and of a user's kernel the sum of the first
// ones, as many as are traced. A kernel that is also launched to stand in for another stage's
// returns at once there: such launches are left out.
std::vector<NcuLaunch> counted_launches(
    const std::vector<NcuLaunch>& launches, const lab::Run& traced, const lab::Row& row) {
  const int most = !traced.program.empty() || !row.launch ? 1 : row.launch->launches;
  std::vector<NcuLaunch> counted;
  int added = 0;
  for (const NcuLaunch& launch : launches) {
    if (!same_kernel(launch.kernel, lab::kernel_name(row))) continue;
    if (row.stage != nullptr && returns_at_once(launch)) continue;
    const auto is_equal = [&](const NcuLaunch& other) { return other.values == launch.values; };
    if (row.stage != nullptr ? !std::ranges::any_of(counted, is_equal) : added == 0) {
      counted.push_back(launch);
    } else if (row.stage == nullptr && added < most) {
      std::vector<std::optional<double>>& sums = counted[0].values;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (sums[i] && launch.values[i]) *sums[i] += *launch.values[i];
      }
    }
    ++added;
  }
  return counted;
}

// Prints a line for each count that is not 0 on both sides. Returns whether all counts that must
// agree do.
bool compare_launch(
    std::FILE* out, const NcuLaunch& launch, const lab::Row& row,
    const std::optional<model::SharedLoads>& compiled) {
  const model::Counts& counts = *row.counts;
  const bool tf32 = !model::multiplies_bf16(*row.variant) && !model::multiplies_parts(*row.variant);
  // A user's loads may stay in registers, whatever their width.
  const bool as_written = row.stage != nullptr && loads_wide(counts);
  bool all_agree = true;
  for (std::size_t i = 0; i < std::size(kMetrics); ++i) {
    const Metric& metric = kMetrics[i];
    const std::int64_t traced = metric.traced(counts);
    const std::optional<double>& from_ncu = launch.values[i];
    if (from_ncu == 0.0 && traced == 0) continue;
    if (metric.compare == Compare::if_tf32 && !tf32) continue;
    const bool has_to_agree = metric.compare != Compare::if_wide || as_written;
    const double more = from_ncu.value_or(0) - static_cast<double>(traced);
    const bool equal = from_ncu && more == 0;
    const bool as_fills = more < 0 && -more <= static_cast<double>(counts.wavefronts_beyond_fills);
    const bool nearly =
        from_ncu && metric.tolerance > 0 &&
        (as_fills || std::fabs(more) < metric.tolerance * static_cast<double>(traced));
    std::optional<double> made;
    if (metric.as_compiled && compiled) {
      made = std::round((*compiled).*metric.as_compiled);
    }
    const bool is_compilers = from_ncu && !has_to_agree && from_ncu == made;
    std::string mark = equal ? "=" : is_compilers ? "c" : nearly ? "≈" : has_to_agree ? "≠" : "?";
    if (mark == "≈") mark += text::printed(" %.1f %%", 100 * more / static_cast<double>(traced));
    all_agree = all_agree && mark != "≠";
    const auto number = [](double value) { return text::grouped(std::llround(value)); };
    const std::string line = text::in_columns(
        {"", metric.count, from_ncu ? number(*from_ncu) : "missing", text::grouped(traced),
         from_ncu ? number(more) : "", made && !has_to_agree ? number(*made) : "", " " + mark},
        kWidths, 0);
    std::fputs(line.c_str(), out);
  }
  return all_agree;
}

// Writes one line per count for every kernel of `traced`. Returns whether every row of `traced`
// with counts is there and all counts that must agree do: those of global memory, the stores to
// shared memory, and the loads from it if the source has wide loads. Throws a Refusal if a row of
// `traced` is not traced in full.
bool print_profile(std::FILE* out, const std::string& ncu_csv, const lab::Run& traced) {
  const std::vector<NcuLaunch> launches = read_ncu(ncu_csv, names_in(kMetrics));
  for (const lab::Row& row : traced.rows) {
    if (!row.variant || !row.counts || lab::is_total(*row.counts)) continue;
    throw model::Refusal(text::printed(
        "%s %d is traced in %lld of its %lld blocks and ncu counts them all; "
        "add --trace all",
        row.stage != nullptr ? "stage" : "kernel", row.number,
        static_cast<long long>(row.counts->blocks_traced),
        static_cast<long long>(row.counts->blocks)));
  }
  std::string text = report::about(traced) + "\n" + text::pad_right("count", 2 + kCount) +
                     "ncu's metric, summed over the GPU\n";
  for (const Metric& metric : kMetrics) {
    text += "  " + text::pad_right(metric.count, kCount) +
            std::string(metric.name.substr(0, metric.name.rfind(".sum"))) + "\n";
  }
  std::fprintf(out, "%s\n", text.c_str());
  bool all_agree = true;
  for (const lab::Row& row : traced.rows) {
    if (!row.variant || !row.counts) continue;
    const std::string title =
        row.stage != nullptr
            ? text::printed("stage %d %s: ", row.number, row.name.c_str()) + lab::kernel_name(row)
            : text::printed("kernel %d: %s", row.number, row.name.c_str());
    std::fprintf(out, "%s\n", text::shortened(title, text::kReportWidth).c_str());
    std::optional<model::SharedLoads> compiled;  // of the whole launch
    if (row.stage != nullptr) compiled = report::Known(traced, row).compiled_loads;
    if (!compiled && row.shared_loads && row.shared_loads->compiled) {
      compiled = whole_launch(*row.shared_loads->compiled);
    }
    const std::vector<NcuLaunch> counted = counted_launches(launches, traced, row);
    for (const NcuLaunch& launch : counted) {
      const text::Cells header{"", "", "ncu", "traced", "ncu more", "as compiled"};
      std::fputs(text::in_columns(header, kWidths, 0).c_str(), out);
      all_agree = compare_launch(out, launch, row, compiled) && all_agree;
    }
    if (counted.empty()) {
      std::fprintf(out, "  ncu did not see this kernel  ≠\n");
      all_agree = false;
    }
  }
  text = "\nA count that is 0 on both sides is left out.\n";
  for (const auto& [sign, words] :
       {std::pair("=", "equal"),
        {"≈",
         "wavefronts of cp.async, less than 10 % apart: they differ a little from launch to "
         "launch. "
         "Or, where a lane's condition is predicate P0, ncu takes it for false: all lanes count as "
         "copying, or as filling with zeros"},
        {"≠", "not equal, but should be"},
        {"c",
         "not as written, and need not be: the compiler merged loads from shared memory into wide "
         "ones, and the GPU counted what the compiled code says (as compiled)"},
        {"?",
         "neither as written nor as compiled, and need not be: the compiler may merge these loads "
         "or leave some out"}}) {
    text += text::labelled(sign, 3, words);
  }
  std::fputs(text.c_str(), out);
  return all_agree;
}

// How busy each unit of the GPU was: the model's share beside ncu's count.

// Indices of kUnitMetrics behind the units'.
constexpr std::size_t kCycles = model::kUnits, kLaunchBlocks = model::kUnits + 1;

// By UnitIndex, then the cycles and the number of blocks. ncu's own percentage for the L2 cache is
// of a peak that no kernel comes near, so its sectors are compared with the rate in the model. L1
// and shared memory share a data stage; ncu counts the whole stage and shared memory's part, and
// the rest is L1's.
constexpr std::array<std::string_view, model::kUnits + 2> kUnitMetrics = {
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sectors.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__cycles_elapsed.max",
    "launch__grid_size"};

constexpr double kLeast = 0.6, kMost = 1.0;  // of the ceiling

using Shares = std::array<double, model::kUnits>;  // in percent of the time

// Nothing if the kernel is not there with the row's number of blocks. Then ncu saw another problem,
// which cannot be compared with this one's ceiling.
std::optional<Shares> counted_shares(
    const std::vector<NcuLaunch>& launches, const lab::Row& row, const model::Gpu& gpu) {
  std::optional<Shares> shares;
  double longest = 0;  // in cycles
  for (const NcuLaunch& launch : launches) {
    bool whole = true;  // a GPU without tensor cores says nothing about them
    for (std::size_t i = 0; i < launch.values.size(); ++i) {
      whole &= i == model::kTensor || launch.values[i].has_value();
    }
    if (!whole || !same_kernel(launch.kernel, lab::kernel_name(row))) continue;
    if (*launch.values[kLaunchBlocks] != static_cast<double>(row.counts->blocks)) continue;
    // A launch in which the kernel stands in for another stage's returns at once.
    if (*launch.values[kCycles] < longest / 2) continue;
    longest = std::max(longest, *launch.values[kCycles]);
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

// For every timed stage of `timed` it writes the speed and the ceiling, and for each unit how much
// of the time it is busy: by the model at the measured speed, and as counted by ncu in a launch of
// as many blocks. Returns whether every stage with a ceiling is in the CSV, is between 0.6 and 1.0
// of its ceiling, and is bound by the unit that was busiest in ncu.
bool print_units(std::FILE* out, const std::string& ncu_csv, const lab::Run& timed) {
  const std::vector<model::UnitIndex> units = shown_units(timed);
  // "10 register pipeline", in a column that leaves room for those of the units.
  const auto begin = [&](const std::string& name, const char* tflops, const char* most,
                         const char* share) {
    const int width = units.size() == model::kUnits ? 18 : 22;
    return text::pad_right(text::shortened(name, width), width) +
           text::printed(" %5s %6s %3s", tflops, most, share);
  };
  const std::vector<NcuLaunch> launches = read_ncu(ncu_csv, kUnitMetrics);
  std::string text = report::about(timed) + "\n" + begin("", "TFLOP", "ceil-", "%") +
                     "   % of the time that a unit is busy: by the model, by ncu\n" +
                     begin("# stage", "/s", "ing", "of");
  for (const model::UnitIndex unit : units) text += text::pad_left(model::kUnitNames[unit], 8);
  text += " bound by\n";
  int stages = 0, agree = 0, within = 0;
  for (const lab::Row& row : timed.rows) {
    const report::Known known(timed, row);
    const std::optional<model::Ceiling>& ceiling = known.compiled;
    const std::optional<double>& ratio = known.ceiling_ratio;
    if (!ratio) continue;
    ++stages;
    within += *ratio >= kLeast && *ratio <= kMost;
    text += begin(
        std::to_string(row.number) + " " + row.name, text::significant(*known.tflops).c_str(),
        text::significant(ceiling->tflops).c_str(), text::printed("%.0f", 100 * *ratio).c_str());
    const std::optional<Shares> counted = counted_shares(launches, row, timed.gpu);
    for (const model::UnitIndex unit : units) {
      text += text::printed(" %3.0f", 100 * ceiling->ms[unit] / *known.kernel_ms) +
              (counted ? text::printed(" %3.0f", (*counted)[unit]) : "   –");
    }
    text += " " + std::string(model::kUnitNames[ceiling->bound_by]);
    if (!counted) {
      text += ", and ncu did not see this launch  ≠\n";
      continue;
    }
    const auto busiest = std::ranges::max_element(*counted) - counted->begin();
    const bool same = busiest == ceiling->bound_by;
    agree += same;
    text += (same ? " =" : " ≠ " + std::string(model::kUnitNames[busiest])) + "\n";
  }
  text += text::printed(
              "\n%d of %d stages lie between %.1f and %.1f of their ceilings; ", within, stages,
              kLeast, kMost) +
          text::printed("for %d of %d the unit named is ncu's busiest.\n", agree, stages) +
          text::labelled(
              "model", 8,
              "the time that the unit needs for its work, as a share of the measured time, less "
              "that of a split before; the largest is the ceiling's unit") +
          "ncu     percent of the unit's maximum, over the whole launch:\n";
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
  std::fputs(text.c_str(), out);
  return stages > 0 && agree == stages && within == stages;
}

// The counts of the caches in every kernel that ncu saw.

std::string whole(double value) {
  return text::grouped(static_cast<std::int64_t>(value));
}
std::string percent(double value) {
  return text::printed("%.1f", value);
}

struct CacheMetric {
  std::string_view name;
  const char *top, *bottom;  // the heading
  int width;                 // of the column; 0: none
  double scale;
  std::string (*words)(double);
};

// L2's own hit rate would also count what moves between its two halves, so hits are taken from the
// sectors that L1 asks for.
constexpr std::size_t kBlocks = 0, kSharedBytes = 1, kL2Sectors = 4, kL2Hits = 5;
constexpr CacheMetric kCacheMetrics[] = {
    {"launch__grid_size", "", "blocks", 8, 1, whole},
    {"launch__shared_mem_per_block_dynamic", "", "", 0, 1, whole},
    {"gpu__time_duration.sum", "time", "ms", 8, 1e-6, text::significant},
    {"l1tex__t_sector_hit_rate.pct", "L1", "hit %", 6, 1, percent},
    {"lts__t_sectors_srcunit_tex.sum", "L1 to L2", "Msectors", 9, 1e-6, text::significant},
    {"lts__t_sectors_srcunit_tex_lookup_hit.sum", "L2", "hit %", 6, 100, percent},  // of those
    {"dram__bytes_read.sum", "DRAM", "MB read", 9, 1e-6, text::significant},
    {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "waiting", "load",
     8, 1, percent},
    {"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "for a", "place", 6, 1,
     percent}};

// For every kernel in it, cuBLAS's too, it writes the counts of the caches: hit rates of L1 and L2,
// the sectors between them, DRAM bytes, and the warps that waited.
void print_caches(std::FILE* out, const std::string& ncu_csv) {
  // The last of several launches with the same grid and shared memory, when the clock no longer
  // rises, in the order of the first ones.
  std::vector<NcuLaunch> launches;
  for (const NcuLaunch& launch : read_ncu(ncu_csv, names_in(kCacheMetrics))) {
    const auto before = std::ranges::find_if(launches, [&](const NcuLaunch& other) {
      return launch.kernel == other.kernel && launch.values[kBlocks] == other.values[kBlocks] &&
             launch.values[kSharedBytes] == other.values[kSharedBytes];
    });
    if (before != launches.end()) {
      *before = launch;
    } else {
      launches.push_back(launch);
    }
  }
  if (launches.empty()) {
    throw model::Refusal("ncu's output has no launch; give the output of a run with --device gpu");
  }
  constexpr int kName = 37;
  std::vector<int> widths{-kName};
  std::vector<text::Cells> lines{{""}, {"kernel"}};
  for (const NcuLaunch& launch : launches) {
    lines.push_back({text::shortened(short_name(launch.kernel), kName)});
  }
  for (std::size_t i = 0; i < std::size(kCacheMetrics); ++i) {
    const CacheMetric& metric = kCacheMetrics[i];
    if (metric.width == 0) continue;
    widths.push_back(metric.width);
    lines[0].push_back(metric.top);
    lines[1].push_back(metric.bottom);
    for (std::size_t line = 2; line < lines.size(); ++line) {
      const auto& values = launches[line - 2].values;
      const double whole = i == kL2Hits ? values[kL2Sectors].value_or(0) : 1;
      lines[line].push_back(
          values[i] && whole > 0 ? metric.words(*values[i] * metric.scale / whole) : "–");
    }
  }
  std::string text = "\nThe caches, as ncu counts them; before each launch it empties them.\n\n";
  for (const text::Cells& line : lines) text += text::in_columns(line, widths, 0);
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

bool has(const std::string& ncu_csv, std::string_view metric) {
  return ncu_csv.find('"' + std::string(metric) + '"') != ncu_csv.npos;
}

}  // namespace

std::string ncu_metrics(std::string_view kind) {
  std::string names;
  for (const std::string_view name : kind == "units"    ? names_in(kUnitMetrics)
                                     : kind == "caches" ? names_in(kCacheMetrics)
                                                        : names_in(kMetrics)) {
    names += (names.empty() ? "" : ",") + std::string(name);
  }
  return names;
}

bool has_caches(const std::string& ncu_csv) {
  return has(ncu_csv, kCacheMetrics[kL2Hits].name);
}

bool print_ncu(std::FILE* out, const std::string& ncu_csv, const lab::Run& run) {
  if (has_caches(ncu_csv)) return print_caches(out, ncu_csv), true;
  return has(ncu_csv, kUnitMetrics[kCycles]) ? print_units(out, ncu_csv, run)
                                             : print_profile(out, ncu_csv, run);
}

}  // namespace profile
