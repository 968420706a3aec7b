#include "model/tile_bound.h"

#include <doctest/doctest.h>

#include "lab/stage_tables.h"
#include "page/data.h"

namespace model {
namespace {

constexpr Product kProduct{4096, 4096, 4096, false};

TileCosts costs_of(int stage, const TileSizes& sizes, int vec) {
  return tile_costs(kProduct, sizes, vec, find_stage(stage_table_plain.stages, stage)->predicted);
}

double bound_of(const char* gpu, int stage, const TileSizes& sizes, int vec) {
  const Predicted& formulas = find_stage(stage_table_plain.stages, stage)->predicted;
  return tile_bound(*find_gpu(gpu), kProduct, sizes, vec, formulas)->tflops;
}

TEST_CASE("a tile of 128 x 128 asks 32 operations per byte, and 8 x 8 results ask 2") {
  const TileCosts costs = costs_of(5, {128, 128, 8, 8, 8}, 1);
  CHECK(costs.threads == 256);
  CHECK(costs.smem_bytes == 8192);
  CHECK(costs.gmem_loads == 4096);
  CHECK(costs.smem_loads == 65536);
  CHECK(costs.operations_per_gmem_byte == 32);
  CHECK(costs.operations_per_smem_byte == 2);
  CHECK(costs_of(6, {128, 128, 8, 8, 8}, 4).smem_loads == 65536 / 4);
}

TEST_CASE("larger results per thread raise the bound, and no bound is above the FMA's peak") {
  const double one = bound_of("H200", 3, {32, 32, 32, 1, 1}, 1);
  const double column = bound_of("H200", 4, {64, 64, 8, 8, 1}, 1);
  const double square = bound_of("H200", 5, {128, 128, 8, 8, 8}, 1);
  const double vectors = bound_of("H200", 6, {128, 128, 8, 8, 8}, 4);
  CHECK(one < column);
  CHECK(column < square);
  CHECK(square < vectors);
  CHECK(vectors <= peak_tflops(*find_gpu("H200"), Multiplier::ffma));
}

TEST_CASE("every stage's tiles are possible, and others are refused for a reason") {
  const Gpu &h200 = *find_gpu("H200"), &t4 = *find_gpu("T4");
  for (const Stage& stage : stage_table_plain.stages) {
    for (const Variant& v : stage.variants) {
      if (!page::has_plain_tiles(stage)) continue;
      const TileSizes sizes{v.BM, v.BN, v.BK, v.TM, v.TN};
      CHECK(tile_fault(h200, sizes, page::floats_at_once(stage)) == TileFault::none);
    }
  }
  CHECK(tile_fault(h200, {128, 128, 0, 8, 8}, 1) == TileFault::range);
  CHECK(tile_fault(h200, {128, 128, 8, 7, 8}, 1) == TileFault::rows);
  CHECK(tile_fault(h200, {128, 128, 8, 8, 7}, 1) == TileFault::columns);
  CHECK(tile_fault(h200, {128, 128, 8, 1, 8}, 1) == TileFault::threads);
  CHECK(tile_fault(h200, {128, 128, 8, 8, 2}, 4) == TileFault::vectors);
  CHECK(tile_fault(h200, {16, 16, 32, 1, 1}, 1) == TileFault::none);
  CHECK(tile_fault(h200, {16, 16, 3, 1, 1}, 1) == TileFault::copies_of_A);
  CHECK(tile_fault(h200, {128, 16, 4, 4, 4}, 1) == TileFault::copies_of_B);
  CHECK(tile_fault(h200, {128, 128, 128, 8, 8}, 1) == TileFault::none);
  CHECK(tile_fault(t4, {128, 128, 128, 8, 8}, 1) == TileFault::shared_memory);
  CHECK_FALSE(tile_bound(
      *find_gpu("paper"), kProduct, {32, 32, 32, 1, 1}, 1,
      find_stage(stage_table_plain.stages, 3)->predicted));
}

}  // namespace
}  // namespace model
