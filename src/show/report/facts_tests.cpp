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
#include "testing/golden.h"
#include "testing/pattern.h"
#include "testing/program.h"

namespace report {

namespace {

using lab::example::timed_run;
using lab::example::traced_run;
using testing::StrictJson;

}  // namespace

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
