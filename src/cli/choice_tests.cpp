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
  const testing::Output output = testing::gemm_steps("--device cpu --hazards off --k 8 " + flags);
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

TEST_CASE("the table names the stages whose tile was chosen because C is small") {
  const model::Stage& stage = changing_stage();
  const std::string name = model::suited_variant(stage, h200(), 256, 256).name;
  const std::string one = " --stage " + std::to_string(stage.number);
  const std::string words = name + " in stage " + std::to_string(stage.number) + ", because C is";
  CHECK(contains(run("--gpu H200 --size 256" + one), words));
  CHECK_FALSE(contains(run("--gpu H200 --size 256 --variant first" + one), "because C is"));
  CHECK(contains(run("--gpu H200 --size 256 --wide" + one), "  " + name + " "));
}

TEST_CASE("--explain says which variant was chosen, and why") {
  const model::Stage& stage = changing_stage();
  const std::string first = stage.variants.front().name;
  const std::string flags =
      "--gpu H200 --explain --section tiles --stage " + std::to_string(stage.number);
  const auto joined = [](std::string text) {
    for (std::size_t at; (at = text.find("\n                  ")) != std::string::npos;) {
      text.replace(at, 19, " ");
    }
    return text;
  };
  const auto explained = [&](const std::string& more) { return joined(run(flags + more)); };

  const model::Variant& small = model::suited_variant(stage, h200(), 256, 256);
  const auto tiles = model::spread(stage.variants.front(), h200(), 256, 256).tiles;
  const std::string idle = explained(" --size 256");
  CHECK(contains(
      idle, small.name + (" was chosen: with " + first) + ", only " + std::to_string(tiles) +
                " of 132 SMs would have a block, and the busiest SM would compute "));
  CHECK(contains(idle, "--variant " + first + " overrides."));

  const model::Gpu& t4 = *model::find_gpu("T4");
  REQUIRE(&model::suited_variant(stage, t4, 1024, 1024) == &stage.variants.front());
  const std::string large = explained(" --size 1024 --gpu T4");
  CHECK(contains(large, first + " was chosen: with "));
  CHECK(contains(large, "A smaller tile is chosen only where they are at most 3/4."));

  CHECK(contains(
      explained(" --size 256 --variant first"),
      "by --variant; without it, " + std::string(small.name) + " would be chosen for this C"));
  CHECK_FALSE(contains(explained(" --size 64 --gpu paper"), "chosen"));
}

TEST_CASE("--explain counts a long product, and checks a short one whose rows are aligned alike") {
  const auto explained = [](const std::string& flags) {
    const testing::Output output =
        testing::gemm_steps("--device cpu --gpu H200 --explain --stage 12 " + flags);
    CHECK(output.exit_code == 0);
    return output.out;
  };
  CHECK(contains(explained("--size 4096"), "are computed and checked for 256 x 256 x 256; "));
  CHECK(contains(explained("--m 4097 --n 4096 --k 4095"), "checked for 257 x 256 x 287; "));
  CHECK_FALSE(contains(explained("--size 128"), "checked for"));
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

TEST_CASE("the list marks what runs with the same flags") {
  const model::Stage& stage = changing_stage();
  const auto is_marked = [&](const std::string& flags, const model::Variant& variant) {
    const std::string list = testing::gemm_steps("--list --device cpu " + flags).out;
    const std::string from =
        list.substr(list.find(std::to_string(stage.number) + " " + stage.name));
    return from.substr(0, from.find('*')).ends_with(std::string(variant.name) + " ");
  };
  const model::Variant& small = model::suited_variant(stage, h200(), 256, 256);
  CHECK(is_marked("--gpu H200 --size 256", small));
  CHECK(is_marked("--gpu H200 --size 4096", stage.variants.front()));
  CHECK(is_marked("--gpu paper", stage.variants.front()));
  CHECK(testing::gemm_steps("--list --gpu no-such-gpu").exit_code == 2);
  CHECK(testing::gemm_steps("--list --a A.npy --b B.npy").exit_code == 2);
}

}  // namespace cli
