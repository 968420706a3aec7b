#include <doctest/doctest.h>

#include <string>

#include "lab/example_run.h"
#include "lab/run.h"
#include "report/explain/explain.h"
#include "testing/program.h"
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

TEST_CASE("a narrow terminal has narrow lines, down to 80 columns") {
  for (const auto& [typed, most] :
       {std::pair("100", 100),
        {"80", 80},
        {"40", 80},
        {"", 100},
        {"200", 100},
        {"wide", 100},
        {"-5", 100}}) {
    CAPTURE(std::string(typed));
    const testing::Variable terminal("COLUMNS", typed);
    CHECK(text::report_width() == most);
    for (const lab::Run& run : {timed_run(), traced_run()}) {
      for (const lab::Row& row : run.rows) {
        CHECK(widest(explained(run, row)) <= most);
        for (const char* name : explained_sections())
          CHECK(widest(section(name, run, row)) <= most);
      }
    }
  }
}

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

TEST_CASE("the counts say what the tensor cores do, where they do something") {
  lab::Run run = traced_run();
  CHECK_FALSE(contains(section("counts", run, run.rows[3]), "tensor cores"));
  run.rows[3].counts->mmas = 4096;
  run.rows[3].counts->mma_products = 4096 * 1024;
  CHECK(contains(
      section("counts", run, run.rows[3]),
      "tensor cores    4,096 instructions of a warp, each of 1,024 multiply-adds"));
}

TEST_CASE("a prediction that the trace does not bear out is said aloud, with the shape's reason") {
  lab::Run run = traced_run();
  run.rows[3].counts->gmem_loads.accesses.max = 255;
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(line_with(text, "GMEM loads  accesses"), "DIFFERS"));
  CHECK_FALSE(contains(line_with(text, "SMEM loads  accesses"), "DIFFERS"));
  CHECK(contains(text, "The shape gives no reason"));
  run.K = 251;
  CHECK(contains(explained(run, run.rows[3]), "K = 251 is not a multiple of BK = 8"));
  run.M = 100;
  CHECK(contains(explained(run, run.rows[3]), "no block is an interior one"));
}

TEST_CASE("an explanation judges coalescing and conflicts by the counts") {
  lab::Run run = traced_run();
  std::string text = explained(run, run.rows[3]);
  CHECK(contains(text, "Not coalesced: 8.00 times"));  // the stores: 65536 of 8192
  CHECK(contains(text, "Nearly coalesced") == false);  // the loads: 40960 of 32768, 1.25
  CHECK(contains(text, "Bank conflicts: 60 %"));       // 196608 of 327680 wavefronts
  CHECK(contains(text, "Conflict-free"));              // the stores
  model::Counts& counts = *run.rows[3].counts;
  counts.gmem_stores.pieces = 8192;
  counts.gmem_stores.uncoalesced = 0;
  counts.gmem_loads.pieces = 20000;  // lanes share addresses
  counts.gmem_loads.ideal_pieces = 10000;
  counts.gmem_loads.uncoalesced = 0;
  text = explained(run, run.rows[3]);
  CHECK(contains(text, "Coalesced: the bytes that the lanes want fit into no fewer sectors."));
  CHECK(contains(text, "Coalesced: lanes share sectors"));
  CHECK_FALSE(contains(text, "Not coalesced"));
  counts.gmem_loads.uncoalesced = 2000;
  CHECK(contains(explained(run, run.rows[3]), "Nearly coalesced: 1.11 times"));
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
  CHECK(contains(
      line_with(text, "  one block alone "), "TFLOP/s, if it copied, then multiplied, never both"));
  CHECK(contains(line_with(text, "  measured  "), "% of the ceiling at this size"));
}

TEST_CASE("an explanation says what the ceiling cannot see, and calls it latency where it counts") {
  const std::string traced = explained(traced_run(), traced_run().rows[3]);
  CHECK_FALSE(contains(traced, "  measured  "));
  const lab::Run untimed = traced_run();
  const model::Waiting waiting = lab::with_waiting(untimed, untimed.rows[3]).value();
  CHECK(waiting.busy[waiting.busiest] < 0.8);
  CHECK(contains(line_with(traced, "  with waiting  "), "TFLOP/s predicted: FMA"));
  CHECK(contains(traced, "the only block on an SM issues"));
  CHECK(contains(line_with(traced, "  bound by  "), "latency, by the prediction"));
  for (const double part : {0.6, 0.9}) {
    lab::Run run = timed_run();
    const double ceiling = lab::compiled_ceiling(run, run.rows[3])->tflops;
    run.rows[3].time->median_ms = 2.0 * 256 * 256 * 256 * 1e-9 / (part * ceiling);
    const std::string text = explained(run, run.rows[3]);
    CHECK(contains(line_with(text, "  bound by  "), "latency") == (part < 0.8));
    CHECK(contains(line_with(text, "  bound by  "), "SMEM"));
    CHECK(contains(text, part < 0.8 ? "60 % of the ceiling" : "90 % of the ceiling"));
    CHECK(contains(text, "is idle 40 % of the time") == (part < 0.8));
    CHECK_FALSE(contains(text, "  not seen  "));
  }
}

TEST_CASE("an explanation works out each limit of the occupancy") {
  const lab::Run run = traced_run();
  lab::Row row = run.rows[3];
  row.occupancy = model::occupancy(kGpu, {256, 38, 2048});
  const std::string text = explained(run, row);
  CHECK(contains(line_with(text, "  threads  "), "1,536 threads per SM / 32 / 8 warps"));
  CHECK(contains(text, "38 x 32 lanes = 1,216 per warp, rounded up to 1,280"));
  CHECK(contains(text, "floor(floor(65,536 / 4 / 1,280) * 4 / 8 warps per block)"));
  CHECK(contains(text, "2,048 B + 1,024 B for the system: 3,072 B"));
  CHECK(contains(text, "6 blocks x 8 warps = 48 of the 48 warps that an SM can hold: 100.00 %"));
  CHECK(contains(line_with(text, "  limiter  "), "threads and registers"));
  CHECK(contains(text, "4 blocks / (6 per SM x 82 SMs) = 0.01"));
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
