#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "lab/experiments/experiment.h"
#include "lab/run.h"
#include "text/numbers.h"

namespace experiments {

namespace {

// Counts of the launch, extrapolated from those of the traced blocks.
std::optional<double> of_launch(const Trial& trial, double of_traced_blocks) {
  const model::Counts& counts = *trial.row.counts;
  if (counts.blocks_traced == 0) return std::nullopt;
  return of_traced_blocks * static_cast<double>(counts.blocks) /
         static_cast<double>(counts.blocks_traced);
}

}  // namespace

std::optional<double> speed(const Trial& trial) {
  if (const auto measured = lab::tflops(trial.run, trial.row)) return measured;
  if (const auto compiled = lab::compiled_ceiling(trial.run, trial.row)) return compiled->tflops;
  const auto written = lab::written_ceiling(trial.run, trial.row);
  return written ? std::optional(written->tflops) : std::nullopt;
}

std::optional<double> shared_loads_written(const Trial& trial) {
  if (!trial.row.counts) return std::nullopt;
  return of_launch(trial, static_cast<double>(trial.row.counts->smem_loads.requests));
}

std::optional<double> shared_loads_compiled(const Trial& trial) {
  const auto record = lab::compiled_loop(trial.run, trial.row);
  if (!record || !trial.row.counts || trial.row.counts->blocks_traced == 0) return std::nullopt;
  const model::SharedLoads a_tile = model::shared_loads_as_compiled(
      lab::product_of(trial.run), *trial.row.variant, *trial.row.counts, *record);
  return a_tile.requests * model::tiles_of(*trial.row.variant, trial.run.M, trial.run.N);
}

Quantization quantization(const Trial& trial) {
  const model::Variant& v = *trial.row.variant;
  const lab::Grid tiles = lab::grid(trial.run, v);
  Quantization result{};
  result.blocks = tiles.x * tiles.y;
  if (result.blocks == 0) return result;
  const auto blocks = static_cast<double>(result.blocks);
  const double inside = static_cast<double>(trial.run.M) * trial.run.N;
  result.wasted = 1 - inside / (blocks * v.BM * v.BN);
  if (trial.row.occupancy)
    result.waves = model::waves(trial.run.gpu, *trial.row.occupancy, result.blocks);
  const double sms = trial.run.gpu.sms;
  result.idle = 1 - blocks / (std::ceil(blocks / sms) * sms);
  return result;
}

std::optional<FirstWave> first_wave(const Trial& trial) {
  const model::Variant& v = *trial.row.variant;
  const lab::Grid tiles = lab::grid(trial.run, v);
  if (!trial.row.occupancy || tiles.x * tiles.y == 0) return std::nullopt;
  const long long at_once = std::min(
      tiles.x * tiles.y,
      static_cast<long long>(trial.run.gpu.sms) * trial.row.occupancy->blocks_per_sm);
  if (at_once == 0) return std::nullopt;
  const bool down_columns = std::string_view(lab::kernel_name(trial.row)).starts_with("swapped_");
  const long long along = down_columns ? tiles.y : tiles.x;  // blocks until the next row or column
  const long long full = std::min(at_once, along), lines = (at_once + along - 1) / along;
  FirstWave wave{};
  wave.block_rows = down_columns ? full : lines;
  wave.block_columns = down_columns ? lines : full;
  const double rows = std::min<double>(trial.run.M, static_cast<double>(wave.block_rows) * v.BM);
  const double columns =
      std::min<double>(trial.run.N, static_cast<double>(wave.block_columns) * v.BN);
  wave.bytes = 4.0 * trial.run.K * (rows + columns);
  return wave;
}

bool is_timed(std::span<const Trial> trials) {
  return std::all_of(
      trials.begin(), trials.end(), [](const Trial& trial) { return trial.row.time.has_value(); });
}

namespace {

report::FactValue or_null(const std::optional<double>& value) {
  if (!value) return {};
  return *value;
}

std::string or_dash(const std::optional<double>& value, std::string (*text)(double)) {
  return value && std::isfinite(*value) ? text(*value) : "–";
}

std::string percent(double share) {
  return text::printed("%.1f", 100 * share);
}

std::string millions(double value) {
  return text::printed("%.2f", value / 1e6);
}

std::optional<model::Ceiling> ceiling_of(const Trial& trial) {
  const auto compiled = lab::compiled_ceiling(trial.run, trial.row);
  return compiled ? compiled : lab::written_ceiling(trial.run, trial.row);
}

std::optional<double> last_wave(const Trial& trial) {
  const double waves = quantization(trial).waves;
  if (waves <= 0 || !std::isfinite(waves)) return std::nullopt;
  return waves - std::ceil(waves) + 1;
}

}  // namespace

const Column kStage{
    "stage",
    {"", "stage"},
    [](const Trial& t) { return std::to_string(t.row.number); },
    [](const Trial& t) { return report::FactValue(t.row.number); },
    nullptr};
const Column kBlockTile{
    nullptr,
    {"tile", "BMxBNxBK"},
    [](const Trial& t) {
      const model::Variant& v = *t.row.variant;
      return text::printed("%dx%dx%d", v.BM, v.BN, v.BK);
    },
    nullptr,
    nullptr};
const Column kWarpTile{
    nullptr,
    {"warp", "WMxWN"},
    [](const Trial& t) {
      const model::Variant& v = *t.row.variant;
      return v.WM > 0 ? text::printed("%dx%d", v.WM, v.WN) : "–";
    },
    nullptr,
    nullptr};
const Column kThreadTile{
    nullptr,
    {"thread", "TMxTN"},
    [](const Trial& t) { return text::printed("%dx%d", t.row.variant->TM, t.row.variant->TN); },
    nullptr,
    nullptr};
const Column kThreads{
    "threads_per_block",
    {"thrds/", "block"},
    [](const Trial& t) { return std::to_string(t.row.variant->threads()); },
    [](const Trial& t) { return report::FactValue(t.row.variant->threads()); },
    nullptr};
const Column kRegisters{
    "registers_per_thread",
    {"", "regs"},
    [](const Trial& t) {
      return t.row.occupancy ? std::to_string(t.row.occupancy->resources.registers_per_thread)
                             : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->resources.registers_per_thread)
                             : report::FactValue();
    },
    nullptr};
const Column kSharedBytes{
    "smem_bytes_per_block",
    {"SMEM B", "/block"},
    [](const Trial& t) {
      return t.row.occupancy ? text::grouped(t.row.occupancy->resources.smem_bytes_per_block) : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->resources.smem_bytes_per_block)
                             : report::FactValue();
    },
    nullptr};
const Column kBlocksPerSm{
    "blocks_per_sm",
    {"blocks", "/SM"},
    [](const Trial& t) {
      return t.row.occupancy ? std::to_string(t.row.occupancy->blocks_per_sm) : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->blocks_per_sm)
                             : report::FactValue();
    },
    nullptr};
const Column kOccupancy{
    "occupancy_percent",
    {"occ", "%"},
    [](const Trial& t) {
      return t.row.occupancy ? text::printed("%.2f", t.row.occupancy->percent) : "–";
    },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(t.row.occupancy->percent) : report::FactValue();
    },
    "occupancy: resident warps as a share of those that an SM can hold"};
const Column kSectors{
    "sectors_per_request",
    {"sect", "/req"},
    [](const Trial& t) { return text::brief(lab::pieces_per_request(t.row.counts->gmem_loads)); },
    [](const Trial& t) {
      return report::FactValue(lab::pieces_per_request(t.row.counts->gmem_loads));
    },
    "32-byte sectors per request (one instruction of a warp) loaded from GMEM"};
const Column kLines{
    "lines_per_request",
    {"lines", "/req"},
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->gmem_loads;
      return loads.requests > 0 ? text::brief(double(loads.lines) / double(loads.requests)) : "–";
    },
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->gmem_loads;
      return loads.requests > 0 ? report::FactValue(double(loads.lines) / double(loads.requests))
                                : report::FactValue();
    },
    "128-byte lines per such request: L1 serves one per cycle"};
const Column kGlobalLoads{
    "gmem_load_floats_per_result",
    {"GMEM", "/res"},
    [](const Trial& t) {
      const double results = lab::results_per_thread(*t.row.variant);
      return text::brief(static_cast<double>(t.row.counts->gmem_loads.floats.max) / results);
    },
    [](const Trial& t) {
      const double results = lab::results_per_thread(*t.row.variant);
      return report::FactValue(static_cast<double>(t.row.counts->gmem_loads.floats.max) / results);
    },
    "floats loaded from GMEM per result"};
const Column kSharedWritten{
    "smem_load_requests_written",
    {"written", "SMEM M"},
    [](const Trial& t) { return or_dash(shared_loads_written(t), millions); },
    [](const Trial& t) { return or_null(shared_loads_written(t)); },
    "SMEM load requests of the whole launch, in millions, as written in the source"};
const Column kSharedCompiled{
    "smem_load_requests_compiled",
    {"compiled", "SMEM M"},
    [](const Trial& t) { return or_dash(shared_loads_compiled(t), millions); },
    [](const Trial& t) { return or_null(shared_loads_compiled(t)); },
    "the same after compilation, which merges loads of neighbours into wide ones"};
const Column kLoadConflicts{
    "smem_load_conflicts_per_request",
    {"conf", "/load"},
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->smem_loads;
      return loads.requests > 0 ? text::brief(double(loads.bank_conflicts) / double(loads.requests))
                                : "–";
    },
    [](const Trial& t) {
      const model::Traffic& loads = t.row.counts->smem_loads;
      return loads.requests > 0
                 ? report::FactValue(double(loads.bank_conflicts) / double(loads.requests))
                 : report::FactValue();
    },
    "bank conflicts: extra SMEM wavefronts per request"};
const Column kStoreConflicts{
    "smem_store_conflicts_per_request",
    {"conf", "/store"},
    [](const Trial& t) {
      const model::Traffic& stores = t.row.counts->smem_stores;
      return stores.requests > 0
                 ? text::brief(double(stores.bank_conflicts) / double(stores.requests))
                 : "–";
    },
    [](const Trial& t) {
      const model::Traffic& stores = t.row.counts->smem_stores;
      return stores.requests > 0
                 ? report::FactValue(double(stores.bank_conflicts) / double(stores.requests))
                 : report::FactValue();
    },
    nullptr};
const Column kProblem{
    nullptr,
    {"", "MxNxK"},
    [](const Trial& t) { return text::printed("%dx%dx%d", t.run.M, t.run.N, t.run.K); },
    nullptr,
    nullptr};
const Column kBlocks{
    "blocks_in_the_launch",
    {"", "blocks"},
    [](const Trial& t) { return std::to_string(quantization(t).blocks); },
    [](const Trial& t) { return report::FactValue(std::int64_t{quantization(t).blocks}); },
    nullptr};
const Column kWaves{
    "waves",
    {"", "waves"},
    [](const Trial& t) { return t.row.occupancy ? text::brief(quantization(t).waves) : "–"; },
    [](const Trial& t) {
      return t.row.occupancy ? report::FactValue(quantization(t).waves) : report::FactValue();
    },
    "how many times all SMs must be filled with blocks"};
const Column kLastWave{
    "last_wave_full",
    {"last", "full%"},
    [](const Trial& t) { return or_dash(last_wave(t), percent); },
    [](const Trial& t) { return or_null(last_wave(t)); },
    "how much of the last wave is filled with blocks"};
const Column kWasted{
    "tiles_wasted",
    {"waste", "%"},
    [](const Trial& t) { return percent(quantization(t).wasted); },
    [](const Trial& t) { return report::FactValue(quantization(t).wasted); },
    "the part of the tiles that is outside C, which is wasted work"};
const Column kFirstWave{
    "first_wave_blocks",
    {"wave", "rows x columns"},
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? text::printed("%lld x %lld", wave->block_rows, wave->block_columns) : "–";
    },
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? report::FactValue(
                        text::printed("%lld x %lld", wave->block_rows, wave->block_columns))
                  : report::FactValue();
    },
    "the blocks that the GPU holds at once, and the part of C that they span"};
const Column kFirstWaveBytes{
    "first_wave_bytes",
    {"wave's A", "and B MB"},
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? text::significant(wave->bytes / 1e6) : "–";
    },
    [](const Trial& t) {
      const auto wave = first_wave(t);
      return wave ? report::FactValue(wave->bytes) : report::FactValue();
    },
    "the parts of A and B that these blocks read, each element counted once"};
const Column kCeiling{
    "ceiling_tflops",
    {"ceiling", "TFLOP/s"},
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? text::significant(ceiling->tflops) : "–";
    },
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? report::FactValue(ceiling->tflops) : report::FactValue();
    },
    "the most that this GPU can reach: the unit in the next column would then be busy all "
    "the time"};
const Column kBoundBy{
    "ceiling_bound_by",
    {"bound", "by"},
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? std::string(model::kUnitNames[ceiling->bound_by]) : "–";
    },
    [](const Trial& t) {
      const auto ceiling = ceiling_of(t);
      return ceiling ? report::FactValue(std::string(model::kUnitNames[ceiling->bound_by]))
                     : report::FactValue();
    },
    nullptr};
const Column kTime{
    "median_ms",
    {"time", "ms"},
    [](const Trial& t) { return text::significant(t.row.time->median_ms); },
    [](const Trial& t) {
      return t.row.time ? report::FactValue(t.row.time->median_ms) : report::FactValue();
    },
    "the median of many launches, each between two events, after unmeasured ones",
    true};
const Column kTflops{
    "measured_tflops",
    {"", "TFLOP/s"},
    [](const Trial& t) { return or_dash(lab::tflops(t.run, t.row), text::significant); },
    [](const Trial& t) { return or_null(lab::tflops(t.run, t.row)); },
    nullptr,
    true};
const Column kOfCublas{
    "of_cublas",
    {"% of", "cuBLAS"},
    [](const Trial& t) { return or_dash(lab::cublas_ratio(t.run, t.row), percent); },
    [](const Trial& t) { return or_null(lab::cublas_ratio(t.run, t.row)); },
    "speed relative to cuBLAS fp32 in the same run",
    true};

}  // namespace experiments
