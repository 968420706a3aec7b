// JSON and CSV.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "lab/example_run.h"
#include "lab/run.h"
#include "show/report/facts.h"
#include "show/report/hazard_sentence.h"
#include "show/report/words.h"
#include "testing/program.h"

namespace report {

namespace {

using lab::example::timed_run;
using lab::example::traced_run;
using testing::StrictJson;

std::string json_of(const lab::Run& run) {
  return testing::written([&](std::FILE* out) { print_json(out, run); });
}

}  // namespace

TEST_CASE("every word in a hazard's texts has a value") {
  const lab::Run run = traced_run();
  for (int kind = 0; kind < static_cast<int>(std::size(model::kHazards)); ++kind) {
    for (const bool full : {false, true}) {
      model::Hazard hazard{static_cast<model::HazardKind>(kind), full ? "As" : "", 40, 7, {}, {}};
      if (full) hazard.second = {34, 12, true, {}};
      if (full) hazard.other_block = 2;
      for (const std::string& text :
           {hazard_sentence(hazard, run, run.rows[3]), hazard_place(hazard, run)}) {
        CAPTURE(text);
        CHECK(text.size() > 10);
        CHECK(text.find_first_of("{}[]|") == text.npos);
      }
    }
  }
}

TEST_CASE("the JSON is valid and has every key of a stage") {
  const StrictJson json(json_of(timed_run()));
  for (const char* key :
       {"number",
        "name",
        "variant",
        "threads_per_block",
        "blocks",
        "blocks_traced",
        "gmem_load_requests",
        "gmem_load_sectors",
        "gmem_store_requests",
        "gmem_store_sectors",
        "smem_load_requests",
        "smem_load_wavefronts",
        "smem_store_requests",
        "smem_store_wavefronts",
        "smem_load_bank_conflicts",
        "smem_store_bank_conflicts",
        "mma_instructions",
        "mma_multiply_adds",
        "sample.mma_instructions",
        "sample.mma_multiply_adds",
        "why_not_run",
        "ceiling.as_written_tflops",
        "ceiling.compiled_tflops",
        "ceiling.bound_by",
        "ceiling.no_overlap_tflops",
        "ceiling.measured_ratio",
        "bound_by",
        "busiest_unit_percent",
        "ceiling.units.smem_ms",
        "ceiling.units.dram_ms",
        "compiled.loop.lds_128",
        "compiled.smem_load_requests",
        "barriers.per_block",
        "barriers.per_k_tile",
        "compiled.inner.ffma",
        "occupancy.gpu",
        "occupancy.registers",
        "occupancy.smem_bytes",
        "occupancy.blocks_per_sm",
        "occupancy.percent",
        "occupancy.limiter",
        "occupancy.waves",
        "error.relative",
        "error.max_abs",
        "error.bound_ok",
        "error.overflowed",
        "time_ms",
        "tflops",
        "cublas_ratio"}) {
    CAPTURE(key);
    for (const char* stage : {"stages.0.", "stages.1.", "stages.2."}) {
      CHECK(json.values.count(std::string(stage) + key) == 1);
    }
  }
  for (const char* figure :
       {"gmem_loads_per_thread", "smem_loads_per_thread", "gmem_stores_per_thread",
        "smem_stores_per_thread", "gmem_floats_per_thread", "smem_floats_per_thread",
        "async_copies_per_thread"}) {
    for (const char* member : {".min", ".max", ".mean", ".predicted"}) {
      CAPTURE(figure);
      CHECK(json.values.at("stages.2." + std::string(figure) + member) != "null");
    }
  }
}

TEST_CASE("the JSON's values are the run's") {
  const StrictJson json(json_of(timed_run()));
  CHECK(json.values.at("problem.K") == "256");
  CHECK(json.values.at("gpu.compute_capability") == "8.6");
  CHECK(json.values.at("stages.0.number") == "0");
  CHECK(json.values.at("stages.0.threads_per_block") == "null");
  CHECK(json.values.at("stages.2.variant") == "128x128x8");
  CHECK(json.values.at("stages.2.threads_per_block") == "256");
  CHECK(json.values.at("stages.2.gmem_loads_per_thread.mean") == "256");
  CHECK(json.values.at("stages.2.smem_loads_per_thread.predicted") == "4096");
  CHECK(json.values.at("stages.2.time_ms") == "0.0132");
  CHECK(json.values.at("stages.2.time.quartile1_ms") == "0.01315");
  CHECK(json.values.at("stages.2.time.quartile3_ms") == "0.0135");
  CHECK(json.values.at("stages.2.cublas_ratio") == "0.5");
  CHECK(json.values.at("stages.2.error.bound_ok") == "true");
  CHECK(json.values.at("yardsticks.0.name") == "OpenMP CPU");
  CHECK(json.values.at("yardsticks.1.name") == "cuBLAS fp32");
  CHECK(json.values.count("stages.3") == 0);
}

TEST_CASE("the JSON and the head of a report say how the data are distributed") {
  lab::Run run = timed_run();
  CHECK(StrictJson(json_of(run)).values.at("problem.data") == "uniform");
  CHECK_FALSE(testing::contains(about(run), "data"));
  run.data = lab::Data::wide_k;
  CHECK(StrictJson(json_of(run)).values.at("problem.data") == "wide-k");
  CHECK(testing::contains(about(run), "seed 1, data wide-k\n"));
}

TEST_CASE("the bound of a timed kernel is a unit or latency, and null if nothing was timed") {
  lab::Run run = timed_run();
  const double ceiling = lab::compiled_ceiling(run, run.rows[3])->tflops;
  for (const double part : {0.6, 0.9}) {
    run.rows[3].time->median_ms = 2.0 * 256 * 256 * 256 * 1e-9 / (part * ceiling);
    const StrictJson json(json_of(run));
    CHECK(json.values.at("stages.2.bound_by") == (part < 0.8 ? "latency" : "SMEM"));
    CHECK(json.values.at("stages.2.busiest_unit_percent") == (part < 0.8 ? "60" : "90"));
    CHECK(json.values.at("stages.2.ceiling.bound_by") == "SMEM");
  }
  const StrictJson traced(json_of(traced_run()));
  CHECK(traced.values.at("stages.2.bound_by") == "null");
  CHECK(traced.values.at("stages.2.busiest_unit_percent") == "null");
}

TEST_CASE("totals are null unless every block was traced, and the sample is beside them") {
  const StrictJson json(json_of(traced_run()));
  CHECK(json.values.at("stages.1.blocks") == "64");
  CHECK(json.values.at("stages.1.blocks_traced") == "5");
  CHECK(json.values.at("stages.1.gmem_load_sectors") == "null");
  CHECK(json.values.at("stages.1.smem_load_bank_conflicts") == "null");
  CHECK(json.values.at("stages.1.sample.gmem_load_sectors") == "1351680");
  CHECK(json.values.at("stages.2.gmem_load_sectors") == "40960");
  CHECK(json.values.at("stages.2.smem_load_bank_conflicts") == "196608");
}

TEST_CASE("the JSON counts what tensor cores do, and says why a GPU did not run a stage") {
  lab::Run run = timed_run();
  run.rows[2].counts->mmas = 40;
  run.rows[3].counts->mmas = 3;
  run.rows[3].counts->mma_products = 3072;
  run.rows[3].why_not_run = "needs sm_90a";
  const StrictJson json(json_of(run));
  CHECK(json.values.at("stages.1.mma_instructions") == "null");
  CHECK(json.values.at("stages.1.sample.mma_instructions") == "40");
  CHECK(json.values.at("stages.1.why_not_run") == "null");
  CHECK(json.values.at("stages.2.mma_instructions") == "3");
  CHECK(json.values.at("stages.2.mma_multiply_adds") == "3072");
  CHECK(json.values.at("stages.2.sample.mma_multiply_adds") == "3072");
  CHECK(json.values.at("stages.2.why_not_run") == "needs sm_90a");
}

TEST_CASE("a traced stage has no time in the JSON") {
  const StrictJson json(json_of(traced_run()));
  CHECK(json.values.at("stages.2.time_ms") == "null");
  CHECK(json.values.at("stages.2.tflops") == "null");
  CHECK(json.values.at("stages.2.cublas_ratio") == "null");
}

TEST_CASE("the JSON stays valid with hostile text, NaN and infinity") {
  lab::Run run = timed_run();
  run.command = "a \"quote\", a \\, a tab\t, \x01, \xff\xc3, \xed\xa0\x80 and ×";
  run.rows[2].error =
      model::Error{std::nan(""), std::numeric_limits<double>::infinity(), false, {}};
  const StrictJson json(json_of(run));
  CHECK(
      json.values.at("command") ==
      "a \\\"quote\\\", a \\\\, a tab\\u0009, \\u0001, \\ufffd\\ufffd, \\ufffd\\ufffd\\ufffd and "
      "×");
  CHECK(json.values.at("stages.1.error.relative") == "null");
  CHECK(json.values.at("stages.1.error.max_abs") == "null");
  run.rows.clear();
  CHECK(StrictJson(json_of(run)).values.at("stages") == "[]");
}

TEST_CASE("JSON has the counts of every line and array") {
  lab::Run run = traced_run();
  for (lab::Row& row : run.rows) {
    if (!row.counts) continue;
    model::LineCounts line;
    line.line = 3;
    line.array = "Bs";
    line.shared = true;
    line.requests = 5;
    row.counts->lines = {line, line};
  }
  const std::string text = json_of(run);
  CHECK(testing::contains(text, "{\"line\": 3, \"array\": \"Bs\", \"space\": \"shared\""));
  CHECK(testing::contains(text, "\"requests\": 10"));
}

TEST_CASE("--json writes the printed run to a file, too") {
  const testing::Folder folder;
  const std::string file = folder / "run.json";
  const testing::Output run =
      testing::gemm_steps("--device cpu --stage 2 --size 64 --json '" + file + "'");
  CHECK(run.exit_code == 0);
  CHECK(testing::contains(run.out, "2 coalesced"));
  const StrictJson json(testing::contents(file));
  CHECK(json.values.at("schema") == std::to_string(kSchema));
  CHECK(json.values.at("host.threads") != "0");
  CHECK(json.values.at("stages.0.name") == "coalesced");
  CHECK(json.values.at("stages.0.lines.0.line") != "null");

  const testing::Output nowhere =
      testing::gemm_steps("--device cpu --stage 2 --size 64 --json '" + folder / "no/run.json'");
  CHECK(nowhere.exit_code == 2);
  CHECK(nowhere.err.starts_with("gemm_steps: --json "));
  CHECK(nowhere.out.empty());
  const testing::Output list = testing::gemm_steps("--list --json '" + file + "'");
  CHECK(list.exit_code == 2);
  CHECK(list.err == "gemm_steps: --list does not use --json; leave --json out\n");
}

namespace {

std::string csv_of(const lab::Run& run) {
  return testing::written([&](std::FILE* out) { print_csv(out, run); });
}

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

TEST_CASE("the CSV has a line of names and a line per row, with equally many fields") {
  lab::Run run = lab::example::timed_run();
  run.command = "gemm_steps --a \"x, y.npy\"";
  run.rows[3].counts->mmas = 7;
  run.rows[3].why_not_run = "needs sm_90a";
  const std::string csv = csv_of(run);
  const std::vector<std::string> lines = testing::lines_of(csv);
  REQUIRE(lines.size() == 1 + run.rows.size());
  const std::vector<std::string> names = csv_fields(lines[0]);
  for (const std::string& line : lines) {
    CHECK(line.back() == '\r');
    CHECK(csv_fields(line).size() == names.size());
  }
  CHECK(testing::contains(csv, ",\"gemm_steps --a \"\"x, y.npy\"\"\","));
  const auto field = [&](int line, const std::string& name) {
    const auto column = std::find(names.begin(), names.end(), name) - names.begin();
    return csv_fields(lines[line]).at(static_cast<std::size_t>(column));
  };
  CHECK(field(4, "number") == "5");
  CHECK(field(4, "gmem_loads_per_thread.max") == "256");
  CHECK(field(4, "gmem_load_sectors") == "40960");
  CHECK(field(3, "gmem_load_sectors") == "");
  CHECK(field(4, "mma_instructions") == "7");
  CHECK(field(4, "why_not_run") == "needs sm_90a");
  CHECK(field(3, "why_not_run") == "");
  CHECK(field(2, "number") == "");
  CHECK(field(2, "name") == "OpenMP CPU");
}

}  // namespace report
