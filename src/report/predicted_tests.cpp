#include <doctest/doctest.h>

#include <vector>

#include "lab/example_run.h"
#include "report/predicted.h"

namespace report {

namespace {

using lab::example::kTiling;
using lab::example::stage_row;
using lab::example::tiling_counts;
using lab::example::traced_run;

}  // namespace

TEST_CASE("the 2D tiling's formulas give what its loops do") {
  lab::Run run = traced_run();
  const lab::Row& row = run.rows[3];
  CHECK(predicted(run, row)->gmem_loads == 256);
  CHECK(predicted(run, row)->smem_loads == 4096);
  CHECK(predicted(run, row)->gmem_stores == 64);
  SUBCASE("beta adds a load a result") {
    run.beta = 2;
    CHECK(predicted(run, row)->gmem_loads == 256 + 64);
  }
  SUBCASE("without alpha there is nothing to multiply") {
    run.alpha = 0;
    CHECK(predicted(run, row)->smem_loads == 0);
  }
  SUBCASE("a row that is not a kernel has none") {
    CHECK_FALSE(predicted(run, run.rows[0]));
  }
}

TEST_CASE("a formula knows whether four floats move at a time") {
  lab::Run run = traced_run();
  model::Stage stage = kTiling;
  stage.predicted.gmem_loads = "K/vec";
  lab::Row row = stage_row(stage, tiling_counts(), 128);
  CHECK(predicted(run, row)->gmem_loads == 64);
  row.aligned = false;
  CHECK(predicted(run, row)->gmem_loads == 256);
}

TEST_CASE("a formula with numbers in place of its names reads as arithmetic") {
  const lab::Run run = traced_run();
  const std::vector<model::Named> names = formula_names(run, run.rows[3]);
  CHECK(
      with_numbers("ceil(K/BK) * (BM*BK + BK*BN) / threads", names) ==
      "ceil(256/8) * (128*8 + 8*128) / 256");
  CHECK(with_numbers("2*K2 + TMx", names) == "2*K2 + TMx");
}

}  // namespace report
