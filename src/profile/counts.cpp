#include "profile/profile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "lab/rates.h"
#include "model/refusal.h"
#include "profile/ncu.h"
#include "report/words.h"
#include "text/numbers.h"

namespace profile {

namespace {

// How far the hardware's own count may differ from launch to launch.
constexpr double kJitterOfWavefronts = 0.05, kJitterOfAsyncSectors = 0.002;

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
  double jitter = 0;
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
     [](const model::Counts& c) { return c.async_gmem.pieces - c.box_sectors; },
     kJitterOfAsyncSectors},
    {"LDGSTS wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
     [](const model::Counts& c) { return c.async_smem.pieces; }, kJitterOfWavefronts},
    {"TMA loads", "sm__sass_inst_executed_op_tma_ld.sum",
     [](const model::Counts& c) { return c.box_requests + c.boxes_outside; }},
    {"TMA load sectors", "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
     [](const model::Counts& c) { return c.box_sectors_delivered; }},
    {"STS requests", "smsp__sass_inst_executed_op_shared_st.sum",
     [](const model::Counts& c) { return c.smem_stores.requests - c.async_smem.requests; }},
    {"STS wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     [](const model::Counts& c) { return c.smem_stores.pieces - c.async_smem.pieces; },
     kJitterOfWavefronts},
    {"LDS requests", "smsp__sass_inst_executed_op_shared_ld.sum",
     [](const model::Counts& c) { return c.smem_loads.requests - c.ldmatrix_requests; }, 0,
     Compare::if_wide, &model::SharedLoads::requests},
    {"LDS wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
     [](const model::Counts& c) { return c.smem_loads.pieces - c.ldmatrix_wavefronts; },
     kJitterOfWavefronts, Compare::if_wide, &model::SharedLoads::wavefronts},
    {"LDSM requests", "smsp__inst_executed_op_ldsm.sum",
     [](const model::Counts& c) { return c.ldmatrix_requests; }},
    {"LDSM wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
     [](const model::Counts& c) { return c.ldmatrix_wavefronts; }, kJitterOfWavefronts},
    {"tensor operations", "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
     [](const model::Counts& c) { return 2 * c.mma_products; }, 0, Compare::if_tf32},
};

std::vector<std::string_view> names_of_metrics() {
  std::vector<std::string_view> names;
  for (const Metric& metric : kMetrics) names.push_back(metric.name);
  return names;
}

constexpr int kCount = 20, kNumber = 16;  // columns

// Of a user's kernel; nothing if a line of it could not be told.
std::optional<model::SharedLoads> whole_launch(const model::CompiledLoads& loads) {
  if (!loads.requests() || !loads.wavefronts()) return std::nullopt;
  return model::SharedLoads{
      .requests = static_cast<double>(*loads.requests()),
      .wavefronts = static_cast<double>(*loads.wavefronts())};
}

// Whether the source itself loads several words of shared memory at once.
bool loads_wide(const model::Counts& counts) {
  return counts.smem_loads.floats.sum != counts.smem_loads.accesses.sum;
}

// The launches in ncu's output to set beside the row's counts: of a stage those that differ,
// because a warm-up and its repetitions are equal, and of a user's kernel the sum of the first
// ones, as many as are traced.
std::vector<NcuLaunch> counted_launches(
    const std::vector<NcuLaunch>& launches, const lab::Run& traced, const lab::Row& row) {
  const int most = !traced.program.empty() || !row.launch ? 1 : row.launch->launches;
  std::vector<NcuLaunch> counted;
  int added = 0;
  for (const NcuLaunch& launch : launches) {
    if (!same_kernel(launch.kernel, lab::kernel_name(row))) continue;
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
  const bool tf32 = !model::multiplies_bf16(*row.variant);
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
    const bool nearly = from_ncu && std::fabs(more) < metric.jitter * static_cast<double>(traced);
    std::optional<double> made;
    if (metric.as_compiled && compiled) {
      made = std::round((*compiled).*metric.as_compiled);
    }
    const bool is_compilers = from_ncu && !has_to_agree && from_ncu == made;
    std::string mark = equal ? "=" : is_compilers ? "c" : nearly ? "≈" : has_to_agree ? "≠" : "?";
    if (mark == "≈") mark += text::printed(" %.1f %%", 100 * more / static_cast<double>(traced));
    all_agree = all_agree && mark != "≠";
    const auto number = [](double value) { return text::grouped(std::llround(value)); };
    const std::string line = "  " + text::pad_right(metric.count, kCount) +
                             text::pad_left(from_ncu ? number(*from_ncu) : "missing", kNumber) +
                             text::pad_left(text::grouped(traced), kNumber) +
                             text::pad_left(from_ncu ? number(more) : "", kNumber) +
                             text::pad_left(made && !has_to_agree ? number(*made) : "", kNumber) +
                             " " + mark;
    std::fprintf(out, "%s\n", line.c_str());
  }
  return all_agree;
}

}  // namespace

std::string ncu_metrics() {
  return joined_metrics(names_of_metrics());
}

bool print_profile(std::FILE* out, std::istream& ncu_csv, const lab::Run& traced) {
  const std::vector<NcuLaunch> launches = read_ncu(ncu_csv, names_of_metrics());
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
    const auto record = row.stage != nullptr ? lab::compiled_loop(traced, row) : std::nullopt;
    if (record) {
      compiled = model::shared_loads_as_compiled(
          lab::product_of(traced), *row.variant, *row.counts, *record);
      const int tiles = model::tiles_of(*row.variant, traced.M, traced.N);
      compiled->requests *= tiles;
      compiled->wavefronts *= tiles;
    } else if (row.shared_loads && row.shared_loads->compiled) {
      compiled = whole_launch(*row.shared_loads->compiled);
    }
    const std::vector<NcuLaunch> counted = counted_launches(launches, traced, row);
    for (const NcuLaunch& launch : counted) {
      const std::string header = text::pad_right("", 2 + kCount) + text::pad_left("ncu", kNumber) +
                                 text::pad_left("traced", kNumber) +
                                 text::pad_left("ncu more", kNumber) +
                                 text::pad_left("as compiled", kNumber);
      std::fprintf(out, "%s\n", header.c_str());
      all_agree = compare_launch(out, launch, row, compiled) && all_agree;
    }
    if (counted.empty()) {
      std::fprintf(out, "  ncu did not see this kernel  ≠\n");
      all_agree = false;
    }
  }
  constexpr int kTerm = 3;
  text = "\nA count that is 0 on both sides is left out.\n";
  text += text::labelled("=", kTerm, "equal");
  text += text::labelled(
      "≈", kTerm,
      "less than 5 % apart (wavefronts), or 0.2 % (sectors of cp.async): the hardware's own "
      "jitter");
  text += text::labelled("≠", kTerm, "not equal, but should be");
  text += text::labelled(
      "c", kTerm,
      "not as written, and need not be: the compiler merged loads from shared "
      "memory into wide ones, and the GPU counted what the compiled code says (as compiled)");
  text += text::labelled(
      "?", kTerm,
      "neither as written nor as compiled, and need not be: the compiler may merge these loads or "
      "leave some out");
  std::fputs(text.c_str(), out);
  return all_agree;
}

}  // namespace profile
