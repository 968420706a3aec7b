#include <doctest/doctest.h>

#include <string>

#include "lab/example_run.h"
#include "report/explain/explain.h"
#include "testing/printed.h"
#include "text/numbers.h"

namespace report {

namespace {

using lab::example::kGpu;
using lab::example::timed_run;
using lab::example::traced_run;
using testing::contains;
using testing::line_with;
using testing::widest;

std::string explained(const lab::Run& run, const lab::Row& row, text::Style style = {}) {
  return testing::written([&](std::FILE* out) { explain(out, run, row, style); });
}

std::string section(const std::string& name, const lab::Run& run, const lab::Row& row) {
  return testing::written(
      [&](std::FILE* out) { explain(out, run, row, {}, {.sections = {name}}); });
}

}  // namespace

TEST_CASE("no line of an explanation is wider than 100 columns") {
  lab::Run run = timed_run();
  for (const lab::Row& row : run.rows) CHECK(widest(explained(run, row)) <= 100);
  run.rows[3].error =
      model::Error{0.5, 1e30, false, model::Mismatch{123456789, 987654321, -1.23456789e-30, 1e300}};
  run.M = run.N = run.K = 1000003;
  CHECK(widest(explained(run, run.rows[3])) <= 100);
  for (const char* name : explained_sections()) {
    CAPTURE(std::string(name));
    CHECK(widest(section(name, run, run.rows[3])) <= 100);
  }
}

TEST_CASE("an explanation shows a formula, its numbers and its value") {
  const lab::Run run = traced_run();
  const std::string text = section("counts", run, run.rows[3]);
  CHECK(contains(text, "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C"));
  CHECK(contains(text, "= ceil(256/8)*8*(128 + 128)/256 + 8*8*0"));
  CHECK(contains(text, "= 4,096"));
  CHECK_FALSE(contains(text, "DIFFERS"));
  CHECK_FALSE(contains(text, "cp.async    copies"));
}

TEST_CASE("a prediction that the trace does not bear out is said aloud, with the shape's reason") {
  lab::Run run = traced_run();
  run.rows[3].counts->gmem_loads.accesses.max = 255;
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "GMEM loads  accesses"), "DIFFERS"));
  CHECK_FALSE(contains(line_with(text, "SMEM loads  accesses"), "DIFFERS"));
  CHECK(contains(text, "The shape gives no reason"));
  run.K = 251;
  CHECK(contains(explained(run, run.rows[3]), "K = 251 is no multiple of BK = 8"));
  run.M = 100;
  CHECK(contains(explained(run, run.rows[3]), "no block is an interior one"));
}

TEST_CASE("an explanation judges coalescing and conflicts by the counts") {
  lab::Run run = traced_run();
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(text, "Not coalesced: 8 times"));     // the stores: 65536 of 8192
  CHECK(contains(text, "Nearly coalesced") == false);  // the loads: 40960 of 32768, 1.25
  CHECK(contains(text, "Bank conflicts: 60 %"));       // 196608 of 327680 wavefronts
  CHECK(contains(text, "Conflict-free"));              // the stores
  run.rows[3].counts->gmem_stores.pieces = 8192;
  run.rows[3].counts->gmem_loads.pieces = 20000;
  text = explained(run, run.rows[3]);
  CHECK(contains(text, "Coalesced: the lanes' addresses"));
  CHECK(contains(text, "Coalesced, and fewer than ideal"));
  CHECK_FALSE(contains(text, "Not coalesced"));
}

TEST_CASE("an explanation sets the compiled loads beside the written ones") {
  lab::Run run = traced_run();
  std::string text = section("ceiling", run, run.rows[3]);
  // A warp: 16 loads a step of K, 256 steps; nvcc makes 8 of 16 two wide ones.
  CHECK(contains(line_with(text, "  loads from SMEM"), "4,096          2,560"));
  CHECK(contains(text, "2,048 LDS.32 + 512 LDS.128"));
  CHECK(contains(text, "made one wide load of several"));
  CHECK_FALSE(contains(section("ceiling", run, run.rows[2]), "loads from SMEM"));
}

TEST_CASE("an explanation draws what each unit needs, and the busiest is as long as the chart") {
  const lab::Run run = timed_run();
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "<- most"), "  SMEM  "));
  CHECK(contains(line_with(text, "<- most"), text::repeated("█", 50)));
  CHECK(contains(line_with(text, "  ceiling  "), "bound by SMEM"));
  CHECK(contains(line_with(text, "  no overlap  "), "TFLOP/s"));
  CHECK(contains(line_with(text, "  tail  "), "4 blocks on 82 SMs, at most 1 on one"));
  CHECK(contains(line_with(text, "  measured  "), "% of the ceiling"));
  CHECK_FALSE(contains(explained(traced_run(), traced_run().rows[3]), "% of the ceiling"));
}

TEST_CASE("an explanation works out each limit of the occupancy") {
  const lab::Run run = traced_run();
  lab::Row row = run.rows[3];
  row.occupancy = model::occupancy(kGpu, {256, 38, 2048});
  const std::string text = explained(run, row);
  CHECK(contains(line_with(text, "  threads  "), "1536 threads an SM / 32 / 8 warps"));
  CHECK(contains(text, "38 x 32 lanes = 1,216 a warp, rounded up to 1,280"));
  CHECK(contains(text, "floor(floor(65536 / 4 / 1280) * 4 / 8 warps a block)"));
  CHECK(contains(text, "2,048 B + 1,024 B of the system: 3,072 B"));
  CHECK(contains(text, "6 blocks x 8 warps = 48 of the 48 warps that an SM can hold: 100.00 %"));
  CHECK(contains(line_with(text, "  limiter  "), "threads and registers"));
  CHECK(contains(text, "4 blocks / (6 a SM x 82 SMs) = 0.01"));
}

TEST_CASE("an explanation of a wrong result names the element") {
  lab::Run run = traced_run();
  run.rows[3].error = model::Error{0.5, 3, false, model::Mismatch{7, 9, 1.5, 2.5}};
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(text, "FAIL"));
  CHECK(contains(text, "C[7][9] is 1.5, expected 2.5"));
}

TEST_CASE("cp.async is explained where there is any") {
  lab::Run run = traced_run();
  run.rows[3].counts->async_gmem = run.rows[3].counts->gmem_loads;
  const std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "cp.async    copies"), "DIFFERS"));
  CHECK(contains(text, "8,192 of these requests"));
}

}  // namespace report
