#include <doctest/doctest.h>

#include <string>

#include "lab/example_run.h"
#include "report/list.h"
#include "testing/program.h"

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
    return testing::written([&](std::FILE* out) {
      print_list(out, stages, {lab::example::kGpu, 256, 256}, format);
    });
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

TEST_CASE("the list marks the variant that runs, and the others that could be chosen") {
  model::Stage stage = kTiling;  // 128x128x8
  const auto with_tile = [&](const char* name, int side, bool for_small) {
    model::Variant& variant = stage.variants.emplace_back(stage.variants.front());
    variant.name = name;
    variant.BM = variant.BN = side;
    variant.for_small = for_small;
  };
  with_tile("64x64x8", 64, true);
  with_tile("16x16x8", 16, false);
  const auto list = [&](const char* gpu, int M, int N, Format format) {
    return testing::written([&](std::FILE* out) {
      print_list(out, {&stage, 1}, {*model::find_gpu(gpu), M, N}, format);
    });
  };
  const std::string small = list("H200", 1024, 1000, Format::table);
  CHECK(contains(small, "128x128x8 +"));
  CHECK(contains(small, "64x64x8 *"));
  CHECK(contains(small, "16x16x8  "));
  CHECK(contains(small, "C (1024 x 1000) on the H200"));
  CHECK(contains(small, "at most 3/4"));
  const std::string large = list("H200", 4096, 4096, Format::table);
  CHECK(contains(large, "128x128x8 *"));
  CHECK(contains(large, "64x64x8 +"));
  // 82 SMs: 64 large tiles are as good as 256 small ones.
  CHECK(contains(list("RTX 3090", 1024, 1024, Format::table), "128x128x8 *"));

  const StrictJson json(list("H200", 1024, 1000, Format::json));
  const auto value = [&](int variant, const char* name) {
    return json.values.at("variants." + std::to_string(variant) + "." + name);
  };
  CHECK(value(0, "default") == "true");
  CHECK(value(0, "for_small") == "false");
  CHECK(value(0, "chosen") == "false");
  CHECK(value(1, "default") == "false");
  CHECK(value(1, "for_small") == "true");
  CHECK(value(1, "chosen") == "true");
  CHECK(value(2, "for_small") == "false");
  CHECK(value(2, "chosen") == "false");
  CHECK(contains(list("H200", 4096, 4096, Format::csv), ",128x128x8,true,false,true,128,"));
}

}  // namespace report
