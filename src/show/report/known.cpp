#include "show/report/known.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "show/pictures/recorded_gpus.h"

namespace report {

namespace {

Quantization quantization_of(const lab::Run& run, const model::Variant& v, lab::Grid grid) {
  const std::int64_t count = grid.x * grid.y;
  if (count == 0) return {};
  const auto blocks = static_cast<double>(count);
  const double inside = static_cast<double>(run.M) * run.N;
  const double sms = run.gpu.sms;
  return {count, 1 - inside / (blocks * v.BM * v.BN), 1 - blocks / (std::ceil(blocks / sms) * sms)};
}

std::optional<FirstWave> first_wave_of(const lab::Run& run, const lab::Row& row, lab::Grid grid) {
  const model::Variant& v = *row.variant;
  const long long at_once =
      std::min(grid.x * grid.y, 1LL * run.gpu.sms * row.occupancy->blocks_per_sm);
  if (at_once == 0) return std::nullopt;
  const bool down_columns = std::string_view(lab::kernel_name(row)).starts_with("swapped_");
  const long long along = down_columns ? grid.y : grid.x;  // blocks until the next row or column
  const long long full = std::min(at_once, along), lines = (at_once + along - 1) / along;
  FirstWave wave{};
  wave.block_rows = down_columns ? full : lines;
  wave.block_columns = down_columns ? lines : full;
  const double rows = std::min<double>(run.M, static_cast<double>(wave.block_rows) * v.BM);
  const double columns = std::min<double>(run.N, static_cast<double>(wave.block_columns) * v.BN);
  wave.bytes = 4.0 * run.K * (rows + columns);
  return wave;
}

std::optional<double> recorded(
    const lab::Run& run, const lab::Row& row, const model::Variant& suited) {
  const bool is_cube = run.M == run.N && run.M == run.K && run.program.empty();
  if (!is_cube || std::string_view(suited.name) != row.variant->name) return std::nullopt;
  for (const pictures::RecordedGpu& of : pictures::recorded_gpus()) {
    const auto ladder = std::ranges::find(of.ladders, run.M, &pictures::RecordedLadder::size);
    if (of.gpu.name != run.gpu.name || ladder == of.ladders.end()) continue;
    const double tflops = ladder->of(row.number).tflops;
    return tflops == 0 ? std::nullopt : std::optional(tflops);
  }
  return std::nullopt;
}

}  // namespace

Known::Known(const lab::Run& of_run, const lab::Row& of_row) : run(of_run), row(of_row) {
  const model::Counts* const counts = row.counts ? &*row.counts : nullptr;
  traced = counts && counts->blocks_traced > 0 ? counts : nullptr;
  total = counts && lab::is_total(*counts) ? counts : nullptr;
  tflops = lab::tflops(run, row);
  const auto times_as_fast_as = [&](const lab::Row* other) -> std::optional<double> {
    if (!other || !other->time || !row.time || row.time->median_ms <= 0) return std::nullopt;
    return other->time->median_ms / row.time->median_ms;
  };
  cublas_ratio = times_as_fast_as(run.cublas());
  const auto before = std::ranges::find(run.rows, row.before_number, &lab::Row::number);
  const bool has_before = row.before_number >= 0 && before != run.rows.end();
  // A contrast is the only row of its stage.
  if (has_before && row.before_number != row.number) times_before = times_as_fast_as(&*before);
  if (!row.variant) return;
  const model::Variant& v = *row.variant;
  const model::Product product = lab::product_of(run);
  const lab::Grid grid = lab::grid(run, v);
  const int tiles = row.stage ? model::tiles_of(v, run.M, run.N) : 0;
  kernel = lab::kernel_name(row);
  aligned = row.aligned;
  blocks = counts ? counts->blocks : grid.x * grid.y;
  quantization = quantization_of(run, v, grid);
  if (row.occupancy) {
    waves = model::waves(run.gpu, *row.occupancy, grid.x * grid.y);
    first_wave = first_wave_of(run, row, grid);
  }
  if (row.stage) {
    const model::Variant& suited = model::suited_variant(*row.stage, run.gpu, run.M, run.N, run.K);
    is_first = &v == &model::first_variant(*row.stage, run.gpu);
    is_for_small = &v == &suited && !is_first;
    recorded_tflops = recorded(run, row, suited);
    shares = lab::shares(run, v);
    cut_tiles = tiles - shares->whole;
    workspace_bytes = 4 * model::floats_of_sums(*shares, v, tiles);
  }
  if (traced) {
    const auto all = static_cast<double>(traced->barriers);
    const auto of_these = static_cast<double>(traced->blocks_traced);
    barriers_per_block = all / of_these;
    // The tiles of C that the traced blocks computed, as a fraction.
    const double of_C = row.stage ? model::traced_tiles(product, v, *traced) : of_these;
    if (all > 0 && v.BK > 0 && product.K > 0) {
      barriers_per_k_tile = all / (of_C * model::padded_K(product, v) / v.BK);
    }
  }
  predicted = report::predicted(run, row);
  record = lab::compiled_loop(run, row);
  if (record && traced && row.stage) {
    compiled_loads = model::shared_loads_as_compiled(product, v, *traced, *record);
    compiled_loads->requests *= tiles;
    compiled_loads->wavefronts *= tiles;
  }
  written = lab::written_ceiling(run, row);
  compiled = lab::compiled_ceiling(run, row);
  waiting = lab::with_waiting(run, row);
  if (!compiled || !tflops) return;
  ceiling_ratio = *tflops / compiled->tflops;
  kernel_ms =
      row.time->median_ms - (row.preparation ? row.preparation->median_ms : compiled->before_ms);
  const double busy = compiled->ms[compiled->bound_by] / *kernel_ms;
  const int percent = static_cast<int>(std::lround(100 * busy));
  bound = BoundBy{percent < kBusy, compiled->bound_by, percent};
}

KnownRun::KnownRun(const lab::Run& of_run) : run(of_run) {
  std::vector<model::DeviceState> states;
  for (const lab::Row& row : run.rows) {
    rows.emplace_back(run, row);
    if (row.time && row.time->device) states.push_back(*row.time->device);
  }
  device = model::together(states);
}

}  // namespace report
