#include <doctest/doctest.h>

#include <string>

#include "lab/example_run.h"
#include "report/list.h"
#include "testing/environment.h"
#include "testing/printed.h"
#include "testing/strict_json.h"

namespace report {

namespace {

using lab::example::kNaive;
using lab::example::kTiling;
using testing::contains;
using testing::line_with;
using testing::StrictJson;

}  // namespace

TEST_CASE("the list names every stage and variant, in each format") {
  const model::Stage stages[] = {kNaive, kTiling};
  const auto list = [&](Format format) {
    return testing::written([&](std::FILE* out) { print_list(out, stages, format); });
  };
  const std::string table = list(Format::table);
  CHECK(testing::widest(table) <= 100);
  CHECK(line_with(table, "serial").starts_with("0 "));
  CHECK(contains(line_with(table, "2D thread tiling"), "128x128x8"));
  {
    const testing::Variable terminal("COLUMNS", "80");
    const std::string narrow = list(Format::table);
    CHECK(testing::widest(narrow) <= 80);
    CHECK(contains(narrow, "2D thread tiling"));
    CHECK(contains(narrow, "128x128x8"));
  }
  const StrictJson json(list(Format::json));
  CHECK(json.values.at("variants.1.variant") == "128x128x8");
  CHECK(json.values.at("variants.1.kernel") == "thread_tiling_2d<128, 128, 8, 8, 8>");
  CHECK(json.values.at("variants.1.threads_per_block") == "256");
  CHECK(testing::lines_of(list(Format::csv)).size() == 3);
}

}  // namespace report
