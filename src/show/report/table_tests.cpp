// The table, its legend and list, JSON and CSV, and the words that all reports share.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "lab/example_run.h"
#include "lab/run.h"
#include "show/report/explain/explain.h"
#include "show/report/facts.h"
#include "show/report/table.h"
#include "show/report/words.h"
#include "testing/golden.h"
#include "testing/pattern.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace report {

namespace {

using lab::example::kTiling;
using lab::example::stage_row;
using lab::example::tiling_counts;
using lab::example::timed_run;
using lab::example::traced_run;
using testing::contains;
using testing::StrictJson;
using testing::widest;

std::string table_of(const lab::Run& run, text::Style style = {}, bool wide = false) {
  return testing::written([&](std::FILE* out) { print_table(out, run, style, wide); });
}

// A ladder as an H200 records it at 4096, with the longest text in each column.
lab::Run recorded_ladder() {
  lab::Run run = timed_run();
  run.M = run.N = run.K = 4096;
  run.rows[0].time = lab::Timing{491253, 491253, 491253, 491253, 491253, 1, true};
  run.rows[2].name = "shared-memory tiling";
  run.rows[2].time->median_ms = 16.0;
  run.rows[3].name = "1D thread coarsening";
  run.rows[3].counts->gmem_loads.accesses.max = 1024;
  run.rows[3].counts->smem_loads.accesses.max = 36864;
  run.rows[3].time->median_ms = 8.22;
  run.rows[4].time->median_ms = 2.68;
  run.rows[5].time->median_ms = 0.353;
  return run;
}

// The tiling, with a speed at which its unit is busy for this part of the time.
lab::Run busy_for(double part) {
  lab::Run run = timed_run();
  const double ceiling = lab::ceilings(run, run.rows[3]).compiled->tflops;
  run.rows[3].time->median_ms = 2.0 * 256 * 256 * 256 * 1e-9 / (part * ceiling);
  return run;
}

}  // namespace

TEST_CASE("no line of the table is wider than the report") {
  lab::Run large = timed_run();
  large.M = large.N = large.K = 65536;
  large.alpha = -1.2345678e-12f;
  large.beta = 3.3333333e12f;
  large.seed = std::numeric_limits<unsigned long long>::max();
  large.driver = std::string(200, 'd');
  for (lab::Row& row : large.rows) {
    row.name = "a stage with quite a long name";
    if (row.time) row.time = lab::Timing{12345678, 1, 1, 1, 1, 1, true};
    if (row.counts) row.counts->smem_loads.accesses.max = std::int64_t{1} << 40;
    if (row.counts) row.counts->gmem_loads.accesses.max = std::int64_t{1} << 40;
    row.error = model::Error{std::nan(""), 1, false, {}};
    row.cublas_error = 1e-20;
  }
  for (const char* columns : {"100", "90", "80"}) {
    const testing::Variable terminal("COLUMNS", columns);
    for (const lab::Run& run : {large, timed_run(), traced_run(), recorded_ladder()}) {
      CAPTURE(table_of(run));
      CHECK(widest(table_of(run)) <= std::atoi(columns));
    }
  }
  const std::string wide = table_of(large, {}, true);
  CHECK(widest(wide) > 100);
  CHECK(contains(wide, "a stage with quite a long name"));
}

namespace {

model::DeviceState steady() {
  return {
      .readings = 52,
      .measured_ms = 480,
      .median_mhz = 1980,
      .min_mhz = 1980,
      .max_mhz = 1980,
      .mean_watts = 655.2,
      .max_watts = 655.4,
      .limit_watts = 700,
      .watts_are_averages = true,
      .max_celsius = 54,
      .throttles = std::vector<model::Throttle>{}};
}

model::DeviceState throttled() {
  model::DeviceState state = steady();
  state.median_mhz = 1935;
  state.min_mhz = 1905;
  state.max_watts = 701;
  state.throttles = std::vector<model::Throttle>{{"the power limit", 34}, {"heat", 2}};
  return state;
}

// The run of a GPU that was in that state for its first kernel.
lab::Run run_in(const std::optional<model::DeviceState>& state) {
  lab::Run run = lab::example::timed_run();
  run.rows[2].time->device = state;
  run.rows[2].time->busy_before_ms = 3210;
  return run;
}

}  // namespace

TEST_CASE("tables of made-up runs are those of their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const std::string& title, const lab::Run& run, text::Style style = {}) {
    outputs.emplace_back(title, table_of(run, style));
  };
  const auto changed = [&](const std::string& title, lab::Run run, auto make) {
    make(run.rows[3]);
    add(title, run, {.colour = true});
  };
  using lab::Row;
  add("traced", traced_run());
  add("timed", timed_run());
  outputs.emplace_back("timed, wide", table_of(timed_run(), {}, true));
  add("recorded", recorded_ladder());
  {
    const testing::Variable terminal("COLUMNS", "80");
    add("recorded, narrow", recorded_ladder());
  }
  for (const double part : {0.796, 0.79}) add("busy", busy_for(part));  // 80 % and 79 %
  changed("busy for half of the time, and split before", busy_for(0.5), [](Row& row) {
    row.preparation = row.time;
    row.preparation->median_ms /= 2;
  });
  changed("wrong", traced_run(), [](Row& row) { row.error->bound_ok = false; });
  changed("overflowed", timed_run(), [](Row& row) { row.error->overflowed = 3; });
  changed("boxes", traced_run(), [](Row& row) { row.counts->box_requests = 1; });
  changed("not timed", timed_run(), [](Row& row) { row.time.reset(); });
  changed("one stage needs another GPU", timed_run(), [](Row& row) {
    row.time.reset();
    row.why_not_run = "needs sm_90a";
  });
  changed("large", timed_run(), [](Row& row) {
    row.counts->gmem_loads.accesses.max = 8192;
    row.time->median_ms = 274877.9;
    row.error->relative = 1.25e-12;
  });
  changed("slow", timed_run(), [](Row& row) { row.time->median_ms = 1e12; });
  model::Stage unknown = kTiling, tiling = kTiling;
  unknown.variants[0].kernel.name = "not recorded";
  changed("no ceiling", traced_run(), [&](Row& row) {
    row = stage_row(unknown, tiling_counts(), 128);
  });
  tiling.variants.push_back(tiling.variants[0]);
  tiling.variants[1].name = "64x64x8";
  tiling.variants[1].BM = tiling.variants[1].BN = 64;
  tiling.variants[1].for_small = true;
  changed("a small tile", timed_run(), [&](Row& row) {
    row.stage = &tiling;
    row.variant = &tiling.variants[1];
  });
  // Both have the speeds that were recorded on their GPU at their size.
  lab::Run run = traced_run();
  run.gpu = *model::find_gpu("H200");
  run.M = run.N = run.K = 4096;
  add("recorded speeds", run);
  run.K = 64;
  add("no recorded speeds", run);

  for (const auto& state : {std::optional(steady()), std::optional(throttled()), {}}) {
    run = run_in(state);
    run.data = lab::Data::wide_k;
    run.rows[2].counts->mmas = 40;
    run.rows[3].counts->mmas = 2;
    run.rows[3].counts->mma_products = 65536;
    run.rows[3].why_not_run = "needs sm_90a";
    model::LineCounts line;
    line.line = 3, line.array = "Bs", line.shared = true, line.requests = 5;
    run.rows[3].counts->lines = {line, line};
    add("clocks", run);
    outputs.emplace_back("", testing::written([&](std::FILE* out) {
                           explain(out, run, run.rows[2], {}, {.sections = {"time"}});
                         }));
  }
  outputs.emplace_back("wide", table_of(run, {}, true));
  run.rows = {run.rows[2], run.rows[3], run.rows[4]};
  run.rows[0].time->device = throttled();
  outputs.emplace_back("JSON", json_text(run));
  outputs.emplace_back("CSV", csv_text(run));
  model::DeviceState other = steady();
  other.readings = 1;
  outputs.emplace_back("a reading", readings_words(other));
  testing::compare_with_golden("made-up-tables", outputs);
}

TEST_CASE("every word in a hazard's texts has a value, and all are those of their golden file") {
  const lab::Run run = traced_run();
  std::string all;
  for (int kind = 0; kind < static_cast<int>(std::size(model::kHazards)); ++kind) {
    for (const bool full : {false, true}) {
      model::Hazard hazard{static_cast<model::HazardKind>(kind), full ? "As" : "", 40, 7, {}, {}};
      if (full) hazard.second = {34, 12, true, {}};
      if (full) hazard.other_block = 2;
      for (const std::string& text :
           {hazard_sentence(hazard, run, run.rows[3]), hazard_place(hazard, run)}) {
        if (full) all += text + "\n";
        CHECK(text.find_first_of("{}[]|") == text.npos);
      }
    }
  }
  testing::compare_with_golden("hazards", {{"each with all its words", all}});
}

TEST_CASE("the JSON stays valid with hostile text, NaN and infinity") {
  lab::Run run = timed_run();
  run.command = "a \"quote\", a \\, a tab\t, \x01, \xff\xc3, \xed\xa0\x80 and ×";
  run.rows[2].error =
      model::Error{std::nan(""), std::numeric_limits<double>::infinity(), false, {}};
  const StrictJson json(json_text(run));
  CHECK(
      json.values.at("command") ==
      "a \\\"quote\\\", a \\\\, a tab\\u0009, \\u0001, \\ufffd\\ufffd, \\ufffd\\ufffd\\ufffd and "
      "×");
  CHECK(json.values.at("stages.1.error.relative") == "null");
  CHECK(json.values.at("stages.1.error.max_abs") == "null");
  run.rows.clear();
  CHECK(StrictJson(json_text(run)).values.at("stages") == "[]");
}

TEST_CASE("the CSV has a line of names and a line per row, with equally many fields") {
  lab::Run run = lab::example::timed_run();
  run.command = "gemm_steps --a \"x, y.npy\"";
  const std::string csv = csv_text(run);
  const std::vector<std::string> lines = testing::lines_of(csv);
  REQUIRE(lines.size() == 1 + run.rows.size());
  // A field in quotes may have commas.
  const auto commas = [](const std::string& line) {
    return std::ranges::count(testing::replaced(line, "\"[^\"]*\"", ""), ',');
  };
  for (const std::string& line : lines) {
    CHECK(line.back() == '\r');
    CHECK(commas(line) == commas(lines[0]));
  }
  CHECK(testing::contains(csv, ",\"gemm_steps --a \"\"x, y.npy\"\"\","));
}

}  // namespace report
