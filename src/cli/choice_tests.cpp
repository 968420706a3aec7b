// Which variants the program runs, as its output says.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "model/stage.h"
#include "testing/program.h"

namespace cli {

namespace {

using testing::contains;

const model::Gpu& h200() {
  return *model::find_gpu("H200");
}

// Traces, of which only the tiles matter.
std::string run(const std::string& flags) {
  const testing::Output output = testing::gemm_steps("--device cpu --hazards off --k 0 " + flags);
  CHECK(output.exit_code == 0);
  return output.out;
}

std::vector<std::string> variants_of(const std::string& flags) {
  const testing::StrictJson json(run("--format json " + flags));
  std::vector<std::string> names;
  for (int row = 0;; ++row) {
    const auto found = json.values.find("stages." + std::to_string(row) + ".variant");
    if (found == json.values.end()) return names;
    if (found->second != "null") names.push_back(found->second);
  }
}

std::vector<std::string> suited(int side) {
  std::vector<std::string> names;
  for (const model::Stage& stage : stage_table_plain.stages) {
    if (stage.variants.empty()) continue;
    names.push_back(model::suited_variant(stage, h200(), side, side).name);
  }
  return names;
}

// The first stage that runs another variant than its first at 256 on an H200.
const model::Stage& changing_stage() {
  const auto found = std::ranges::find_if(stage_table_plain.stages, [](const model::Stage& stage) {
    return !stage.variants.empty() &&
           &model::suited_variant(stage, h200(), 256, 256) != &stage.variants.front();
  });
  REQUIRE(found != stage_table_plain.stages.end());
  return *found;
}

}  // namespace

TEST_CASE("without --variant every stage runs the tile that suits the GPU and the size") {
  const std::vector<std::string> first = suited(8192);
  CHECK(suited(256) != first);
  CHECK(variants_of("--gpu H200 --size 256 --stage 1-") == suited(256));
  CHECK(variants_of("--gpu H200 --size 64 --variant first") == first);
  CHECK(variants_of("--gpu paper --size 64 --stage 1-") == first);
}

TEST_CASE("--variant overrides the choice") {
  const model::Stage& stage = changing_stage();
  const std::string flags = "--gpu H200 --size 256 --stage " + std::to_string(stage.number);
  for (const model::Variant& variant : stage.variants) {
    const std::string name = variant.name;
    CHECK(variants_of(flags + " --variant " + name) == std::vector<std::string>{name});
  }
}

TEST_CASE("--step takes the variant that suits a size, and the first at its own size") {
  const model::Stage& stage = changing_stage();
  const std::string flags = "--step --gpu H200 --print --stage " + std::to_string(stage.number);
  const auto runs = [&](const std::string& more, const model::Variant& variant) {
    return contains(
        testing::gemm_steps(flags + more).out,
        stage.name + (" (" + std::string(variant.name)) + ")");
  };
  const model::Variant& small = model::suited_variant(stage, h200(), 64, 64);
  REQUIRE(&small != &stage.variants.front());
  CHECK(runs(" --k 8", stage.variants.front()));
  CHECK(runs(" --size 64 --k 8", small));
  CHECK(runs(" --m 64 --n 64 --k 8", small));
  CHECK(runs(" --size 64 --k 8 --variant first", stage.variants.front()));
}

}  // namespace cli
