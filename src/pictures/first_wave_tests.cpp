#include "pictures/first_wave.h"

#include <doctest/doctest.h>

#include <string_view>

#include "lab/problem.h"

namespace pictures {

namespace {

// The first `sms` blocks of a stage's variant with tiles of 64 x 64.
FirstWave wave_of(std::string_view stage_name, int sms, int M, int N) {
  model::Gpu gpu = *model::find_gpu("H200");
  gpu.sms = sms;
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.name != stage_name) continue;
    for (const model::Variant& variant : stage.variants) {
      if (variant.BM == 64 && variant.BN == 64) {
        return first_wave(stage_table_traced, variant, gpu, M, N);
      }
    }
  }
  FAIL("no such variant");
  return {};
}

}  // namespace

TEST_CASE("the blocks of a grid compute C row by row, and those of an own order band by band") {
  const FirstWave grid = wave_of("register pipeline", 20, 1024, 1024);
  REQUIRE(grid.tiles.size() == 20);
  CHECK(grid.tiles[15] == std::pair{0, 15});
  CHECK(grid.tiles[16] == std::pair{1, 0});
  CHECK(grid.rows_of_A.size() == 2 * 64);
  CHECK(grid.columns_of_B.size() == 1024);
  CHECK(lines_read(grid) == 2 * 64 + 1024);

  const FirstWave bands = wave_of("balanced", 20, 1024, 1024);
  REQUIRE(bands.tiles.size() == 20);
  CHECK(bands.tiles[7] == std::pair{7, 0});
  CHECK(bands.tiles[8] == std::pair{0, 1});
  CHECK(bands.rows_of_A.size() == 8 * 64);
  CHECK(bands.columns_of_B.size() == 3 * 64);
  CHECK(lines_read(bands) < lines_read(grid));
}

TEST_CASE("a wave has no more blocks than the launch") {
  const FirstWave wave = wave_of("register pipeline", 20, 128, 192);
  CHECK(wave.tiles.size() == 6);
  CHECK(wave.rows_of_A.size() == 128);
  CHECK(wave.columns_of_B.size() == 192);
}

}  // namespace pictures
