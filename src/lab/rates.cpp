#include "lab/rates.h"

#include <algorithm>
#include <cmath>

#include "text/numbers.h"

namespace lab {

std::optional<double> tflops(const Run& run, const Row& row) {
  if (!row.time || row.time->median_ms <= 0 || !run.program.empty()) return std::nullopt;
  return 2.0 * run.M * run.N * run.K / row.time->median_ms * 1e-9;
}

std::optional<double> cublas_ratio(const Run& run, const Row& row) {
  const Row* cublas = run.cublas();
  if (!cublas || !cublas->time || !row.time || row.time->median_ms <= 0) return std::nullopt;
  return cublas->time->median_ms / row.time->median_ms;
}

std::optional<double> times_the_stage_before(const Run& run, const Row& row) {
  for (const Row& before : run.rows) {
    if (row.before_number < 0 || before.number != row.before_number) continue;
    if (row.before_number == row.number) continue;  // a contrast is the only row of its stage
    if (!before.time || !row.time || row.time->median_ms <= 0) continue;
    return before.time->median_ms / row.time->median_ms;
  }
  return std::nullopt;
}

model::Product product_of(const Run& run) {
  return {run.M, run.N, run.alpha != 0 ? run.K : 0, run.beta != 0, run.gpu.sms};
}

std::optional<model::CompiledKernel> compiled_loop(const Run& run, const Row& row) {
  if (!row.variant) return std::nullopt;
  return model::find_compiled_loop(kernel_name(row), run.gpu.compute_capability);
}

namespace {

bool has_ceiling(const Run& run, const Row& row) {
  const bool can_run = !row.occupancy || row.occupancy->blocks_per_sm > 0;
  return row.variant && row.counts && can_run && model::has_clock(run.gpu);
}

}  // namespace

std::optional<model::Ceiling> written_ceiling(const Run& run, const Row& row) {
  if (!has_ceiling(run, row)) return std::nullopt;
  return model::ceiling_as_written(run.gpu, product_of(run), *row.variant, *row.counts);
}

std::optional<model::Ceiling> compiled_ceiling(const Run& run, const Row& row) {
  const std::optional<model::CompiledKernel> record = compiled_loop(run, row);
  if (!record || !has_ceiling(run, row)) return std::nullopt;
  return model::ceiling_as_compiled(run.gpu, product_of(run), *row.variant, *row.counts, *record);
}

std::optional<model::Waiting> with_waiting(const Run& run, const Row& row) {
  const std::optional<model::Ceiling> ceiling = compiled_ceiling(run, row);
  if (!ceiling || !row.occupancy) return std::nullopt;
  return model::with_waiting(
      run.gpu, product_of(run), *row.variant, *ceiling, *compiled_loop(run, row), *row.occupancy);
}

std::optional<double> ceiling_ratio(const Run& run, const Row& row) {
  const std::optional<double> measured = tflops(run, row);
  const std::optional<model::Ceiling> ceiling = compiled_ceiling(run, row);
  if (!measured || !ceiling) return std::nullopt;
  return *measured / ceiling->tflops;
}

std::optional<BoundBy> bound_by(const Run& run, const Row& row) {
  const std::optional<double> ratio = ceiling_ratio(run, row);
  if (!ratio) return std::nullopt;
  const int percent = static_cast<int>(std::lround(100 * *ratio));
  return BoundBy{percent < kBusy, compiled_ceiling(run, row)->bound_by, percent};
}

double results_per_thread(const model::Variant& variant) {
  if (variant.threads() < 1 || variant.BM < 1 || variant.BN < 1) return 1;
  return static_cast<double>(variant.BM) * variant.BN / variant.threads();
}

model::ShareOut shares(const Run& run, const model::Variant& variant) {
  return model::share_out(variant, run.M, run.N, run.alpha != 0 ? run.K : 0, run.gpu.sms);
}

Grid grid(const Run& run, const model::Variant& variant) {
  if (variant.sharing != model::Sharing::grid) {
    const int tiles = model::tiles_of(variant, run.M, run.N);
    return {model::blocks_of(shares(run, variant), tiles), 1};
  }
  const long long BM = std::max(variant.BM, 1), BN = std::max(variant.BN, 1);
  return {(run.N + BN - 1) / BN, (run.M + BM - 1) / BM};
}

std::string product(const Run& run) {
  return text::printed(
      "C (%d x %d) = %g * A (%d x %d) * B (%d x %d) + %g * C", run.M, run.N, run.alpha, run.M,
      run.K, run.K, run.N, run.beta);
}

const char* kernel_name(const Row& row) {
  return row.aligned ? row.variant->kernel.name : row.variant->kernel_any.name;
}

double pieces_per_request(const model::Traffic& traffic) {
  if (traffic.requests == 0) return 0;
  return static_cast<double>(traffic.pieces) / static_cast<double>(traffic.requests);
}

double conflicts_per_request(const model::Counts& counts) {
  const auto requests = counts.smem_loads.requests + counts.smem_stores.requests;
  const auto conflicts = counts.smem_loads.bank_conflicts + counts.smem_stores.bank_conflicts;
  return requests == 0 ? 0 : static_cast<double>(conflicts) / static_cast<double>(requests);
}

bool is_total(const model::Counts& counts) {
  return counts.blocks_traced == counts.blocks;
}

}  // namespace lab
