#include "model/tile_bound.h"

#include <algorithm>
#include <cmath>

#include "model/formula.h"

namespace model {

namespace {

constexpr int kMostThreads = 1024;  // of a block
constexpr int kMostSize = 1024;

int threads_of(const TileSizes& sizes) {
  return (sizes.BM / sizes.TM) * (sizes.BN / sizes.TN);
}

int smem_bytes_of(const TileSizes& sizes) {
  return kWordBytes * sizes.BK * (sizes.BM + sizes.BN);
}

bool copies_whole_rows(int threads, int vec, int rows, int cols) {
  const int floats = threads * vec;
  return floats % cols == 0 && rows % (floats / cols) == 0;
}

// The counts of a block whose requests take the fewest cycles.
Counts fewest_counts(const TileSizes& sizes, int vec, const TileCosts& costs) {
  const int lanes = std::min(costs.threads, kWarpSize);
  const double warps = std::ceil(costs.threads / static_cast<double>(kWarpSize));
  const auto whole = [&](double of_a_thread) {
    return static_cast<std::int64_t>(std::llround(warps * of_a_thread));
  };
  // Unless lanes share them, 128 bytes are the most that a cycle moves.
  const auto cycles = [&](double requests, double floats) {
    return whole(
        std::ceil(std::max(requests, lanes * kWordBytes * floats / l1_bytes_per_sm_clock)));
  };
  WarpAccess same_address{~0u >> (kWarpSize - lanes), kWordBytes * vec, {}};
  const int wavefronts = shared_load(same_address).wavefronts;

  Counts counts;
  counts.blocks_traced = 1;
  counts.gmem_loads.requests = whole(costs.gmem_loads);
  counts.gmem_loads.lines = cycles(costs.gmem_loads, costs.gmem_floats);
  counts.gmem_stores.requests = whole(costs.gmem_stores);
  counts.gmem_stores.lines = cycles(costs.gmem_stores, sizes.TM * sizes.TN);
  counts.smem_loads.requests = whole(costs.smem_loads);
  counts.smem_loads.pieces = counts.smem_loads.requests * wavefronts;
  counts.smem_stores.requests = whole(costs.smem_stores);
  counts.smem_stores.pieces = cycles(costs.smem_stores, costs.gmem_floats);
  return counts;
}

}  // namespace

TileFault tile_fault(const Gpu& gpu, const TileSizes& sizes, int vec) {
  for (const int size : {sizes.BM, sizes.BN, sizes.BK, sizes.TM, sizes.TN}) {
    if (size < 1 || size > kMostSize) return TileFault::range;
  }
  if (sizes.BM % sizes.TM != 0) return TileFault::rows;
  if (sizes.BN % sizes.TN != 0) return TileFault::columns;
  const int threads = threads_of(sizes);
  if (threads > kMostThreads) return TileFault::threads;
  if (sizes.TM % vec != 0 || sizes.TN % vec != 0 || sizes.BK % vec != 0) return TileFault::vectors;
  if (!copies_whole_rows(threads, vec, sizes.BM, sizes.BK)) return TileFault::copies_of_A;
  if (!copies_whole_rows(threads, vec, sizes.BK, sizes.BN)) return TileFault::copies_of_B;
  if (smem_bytes_of(sizes) > gpu.smem_bytes_per_block) return TileFault::shared_memory;
  return TileFault::none;
}

TileCosts tile_costs(
    const Product& product, const TileSizes& sizes, int vec, const Predicted& formulas) {
  TileCosts costs{};
  costs.threads = threads_of(sizes);
  costs.smem_bytes = smem_bytes_of(sizes);
  const auto number = [](int value) { return static_cast<double>(value); };
  const Named names[] = {
      {"M", number(product.M)},
      {"N", number(product.N)},
      {"K", number(product.K)},
      {"BM", number(sizes.BM)},
      {"BN", number(sizes.BN)},
      {"BK", number(sizes.BK)},
      {"TM", number(sizes.TM)},
      {"TN", number(sizes.TN)},
      {"threads", number(costs.threads)},
      {"vec", number(vec)},
      {"reads_C", 0}};
  costs.gmem_loads = evaluate(formulas.gmem_loads, names);
  costs.gmem_floats = evaluate(formulas.gmem_floats, names);
  costs.smem_loads = evaluate(formulas.smem_loads, names);
  costs.smem_floats = evaluate(formulas.smem_floats, names);
  costs.gmem_stores = evaluate(formulas.gmem_stores, names);
  costs.smem_stores = evaluate(formulas.smem_stores, names);
  const double operations = 2.0 * sizes.BM * sizes.BN * product.K / costs.threads;
  costs.operations_per_gmem_byte = operations / (kWordBytes * costs.gmem_floats);
  costs.operations_per_smem_byte = operations / (kWordBytes * costs.smem_floats);
  return costs;
}

std::optional<Ceiling> tile_bound(
    const Gpu& gpu, const Product& product, const TileSizes& sizes, int vec,
    const Predicted& formulas) {
  if (!has_clock(gpu)) return std::nullopt;
  Variant variant{};
  variant.BM = sizes.BM, variant.BN = sizes.BN, variant.BK = sizes.BK;
  variant.TM = sizes.TM, variant.TN = sizes.TN;
  const TileCosts costs = tile_costs(product, sizes, vec, formulas);
  variant.block_x = costs.threads, variant.block_y = 1;
  return ceiling_as_written(gpu, product, variant, fewest_counts(sizes, vec, costs));
}

}  // namespace model
