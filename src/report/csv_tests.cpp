#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/example_run.h"
#include "report/csv.h"
#include "testing/program.h"

namespace report {

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

TEST_CASE("the CSV has a line of names and a line a row, of as many fields") {
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
