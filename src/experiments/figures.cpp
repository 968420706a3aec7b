#include "experiments/figures.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "lab/rates.h"

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

}  // namespace experiments
