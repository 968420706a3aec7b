#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lab/example_run.h"
#include "lab/rates.h"
#include "report/table.h"
#include "testing/printed.h"
#include "text/numbers.h"

namespace report {

namespace {

using lab::example::kTiling;
using lab::example::stage_row;
using lab::example::tiling_counts;
using lab::example::timed_run;
using lab::example::traced_run;
using testing::contains;
using testing::line_with;
using testing::widest;

std::string table_of(const lab::Run& run, text::Style style = {}) {
  return testing::written([&](std::FILE* out) { print_table(out, run, style); });
}

}  // namespace

TEST_CASE("no line of the table is wider than 100 columns") {
  CHECK(widest(table_of(traced_run())) <= 100);
  CHECK(widest(table_of(timed_run())) <= 100);
  lab::Run large = timed_run();
  large.M = large.N = large.K = 65536;
  large.alpha = -1.2345678e-12f;
  large.beta = 3.3333333e12f;
  large.seed = std::numeric_limits<unsigned long long>::max();
  large.driver = std::string(200, 'd');
  for (lab::Row& row : large.rows) {
    row.name = "a stage with quite a long name";
    if (row.time) row.time = lab::Timing{12345678, 1, 1, 1, true};
    if (row.counts) row.counts->smem_loads.accesses.max = std::int64_t{1} << 40;
    if (row.counts) row.counts->gmem_loads.accesses.max = std::int64_t{1} << 40;
    row.error = model::Error{std::nan(""), 1, false, {}};
    row.cublas_error = 1e-20;
  }
  CHECK(widest(table_of(large)) <= 100);
}

TEST_CASE("the columns of the table stand under one another") {
  const std::string table = table_of(timed_run());
  std::vector<int> widths;
  for (const char* row : {"0 serial", "  OpenMP CPU", "4 naive", "5 2D thread", "  cuBLAS fp32"}) {
    widths.push_back(text::display_width(line_with(table, row)));
  }
  for (int width : widths) CHECK(width == widths[0]);
}

TEST_CASE("a timed row says how fast it is beside cuBLAS and the stage before") {
  const std::string row = line_with(table_of(timed_run()), "5 2D thread tiling");
  CHECK(contains(row, " 0.0132 "));
  CHECK(contains(row, " 2.54 "));  // 2 * 256^3 / 13.2 us
  CHECK(contains(row, " 50.0 "));  // 6.6 / 13.2
  const double before = lab::times_the_stage_before(timed_run(), timed_run().rows[3]).value();
  CHECK(contains(row, " " + text::brief(before) + " "));
}

TEST_CASE("the table gives loads per thread and per result, sectors and conflicts per request") {
  const std::string row = line_with(table_of(traced_run()), "5 2D thread tiling");
  CHECK(contains(row, "  256 4.00 4096 64.0 "));
  CHECK(contains(row, " 5.00 "));  // 40960 / 8192
  CHECK(contains(row, " 1.41 "));  // 196608 / (131072 + 8192)
}

TEST_CASE("a wrong result fails in words, and colour only repeats them") {
  lab::Run run = traced_run();
  run.rows[3].error->bound_ok = false;
  const std::string plain = table_of(run);
  CHECK(contains(line_with(plain, "5 2D thread tiling"), "FAIL"));
  CHECK(contains(line_with(plain, "4 naive"), " ok"));
  CHECK_FALSE(contains(plain, "\033"));
  std::string colourful = table_of(run, {.colour = true});
  CHECK(contains(colourful, "\033[31mFAIL\033[0m"));
  for (std::size_t at; (at = colourful.find('\033')) != std::string::npos;) {
    colourful.erase(at, colourful.find('m', at) - at + 1);
  }
  CHECK(colourful == plain);
}

TEST_CASE("a serial loop timed on its first rows says so") {
  lab::Run run = traced_run();
  CHECK_FALSE(contains(table_of(run), "~"));
  run.rows[0].time->partial = true;
  run.rows[0].time->median_ms = 271000;
  CHECK(contains(line_with(table_of(run), "0 serial"), "~271s"));
  CHECK(contains(table_of(run), "first rows"));
}

TEST_CASE("where nothing is timed, the ceiling stands in place of the time") {
  const std::string row = line_with(table_of(traced_run()), "5 2D thread tiling");
  const double ceiling = lab::compiled_ceiling(traced_run(), traced_run().rows[3])->tflops;
  CHECK(contains(row, "traced ≤ " + text::significant(ceiling)));
  CHECK(contains(row, " SMEM "));
  CHECK_FALSE(contains(line_with(table_of(traced_run()), "0 serial"), "≤"));
  CHECK_FALSE(contains(table_of(timed_run()), "≤"));
  lab::Run unknown = traced_run();
  model::Stage stage = kTiling;
  stage.variants[0].kernel.name = "not recorded";
  unknown.rows[3] = stage_row(stage, tiling_counts(), 128);
  CHECK(contains(line_with(table_of(unknown), "5 2D thread tiling"), " traced "));
}

}  // namespace report
