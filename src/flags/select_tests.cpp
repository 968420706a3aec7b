#include "flags/select.h"

#include <doctest/doctest.h>

#include "model/refusal.h"

namespace flags {

namespace {

std::vector<model::Stage> some_stages() {
  const auto stage = [](int number, const char* name, std::vector<model::Variant> variants) {
    return model::Stage{number, name, "", 0, {}, std::move(variants)};
  };
  const auto variant = [](const char* name) {
    return model::Variant{name, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}, {}};
  };
  return {
      stage(0, "serial", {}), stage(1, "naive", {variant("32x32"), variant("8x8")}),
      stage(3, "shared-memory tiling", {variant("16x16")}),
      stage(4, "1D thread coarsening", {variant("64x64x8")}),
      stage(5, "serial twin", {variant("1x1")})};
}

std::vector<int> selected(const std::string& text) {
  const std::vector<model::Stage> stages = some_stages();
  std::vector<int> numbers;
  for (const model::Stage* stage : select_stages(text, stages)) numbers.push_back(stage->number);
  return numbers;
}

std::string stage_refusal(const std::string& text) {
  try {
    selected(text);
  } catch (const model::Refusal& refusal) {
    return refusal.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a stage is given as a number, a range, a name or its beginning") {
  CHECK(selected("") == std::vector<int>{0, 1, 3, 4, 5});
  CHECK(selected("0") == std::vector<int>{0});
  CHECK(selected("03") == std::vector<int>{3});
  CHECK(selected("1-4") == std::vector<int>{1, 3, 4});
  CHECK(selected("4-4") == std::vector<int>{4});
  CHECK(selected("1-") == std::vector<int>{1, 3, 4, 5});
  CHECK(selected("5-") == std::vector<int>{5});
  CHECK(selected("Shared Memory Tiling") == std::vector<int>{3});
  CHECK(selected("shared-memory") == std::vector<int>{3});
  CHECK(selected("1D") == std::vector<int>{4});
  CHECK(selected("serial") == std::vector<int>{0});
  CHECK(select_stages("", {}).empty());
}

TEST_CASE("an unknown stage is refused with a list of the stages") {
  const std::string list =
      "; the stages are 0 serial, 1 naive, 3 shared-memory tiling, 4 1D thread coarsening, "
      "5 serial twin";
  CHECK(stage_refusal("13") == "--stage 13: there is no stage 13" + list);
  CHECK(stage_refusal("3-13") == "--stage 3-13: there is no stage 13" + list);
  CHECK(
      stage_refusal("99999999999999") ==
      "--stage 99999999999999: there is no stage 99999999999999" + list);
  CHECK(stage_refusal("-1") == "--stage -1: there is no such stage" + list);
  CHECK(stage_refusal("-") == "--stage -: there is no such stage" + list);
  CHECK(stage_refusal("0x") == "--stage 0x: there is no such stage" + list);
  CHECK(stage_refusal("2-") == "--stage 2-: there is no stage 2" + list);
  CHECK(stage_refusal("ser") == "--stage ser: more than one stage begins with this" + list);
  CHECK(stage_refusal("4-1") == "--stage 4-1: the range runs backwards; write --stage 1-4");
}

TEST_CASE("a variant must be one of its stage's; without a name it is the first") {
  const std::vector<model::Stage> stages = some_stages();
  CHECK(std::string(select_variant(stages[1], "").name) == "32x32");
  CHECK(std::string(select_variant(stages[1], "8x8").name) == "8x8");
  CHECK(std::string(select_variant(stages[1], "first").name) == "32x32");
  CHECK_THROWS_WITH_AS(
      select_variant(stages[1], "8"),
      "--variant 8: stage 1 (naive) has no such variant; it has 32x32, 8x8", model::Refusal);
  CHECK_THROWS_WITH_AS(
      select_variant(stages[0], "8"),
      "--variant 8: stage 0 (serial) has no variants; leave --variant out", model::Refusal);
}

TEST_CASE("where the GPU and C are known, a variant without a name is the one that suits") {
  std::vector<model::Stage> stages = some_stages();
  model::Variant &large = stages[1].variants[0], &small = stages[1].variants[1];
  large.BM = large.BN = 32;
  small.BM = small.BN = 8;
  small.for_small = true;
  const auto selected = [&](const std::string& name, int side) {
    return select_variant(stages[1], name, *model::find_gpu("H200"), side, side).name;
  };
  CHECK(selected("", 64) == small.name);
  CHECK(selected("", 4096) == large.name);
  CHECK(selected("first", 64) == large.name);
  CHECK(selected("32x32", 64) == large.name);
  CHECK(selected("8x8", 4096) == small.name);
  CHECK_THROWS_AS(selected("8", 64), model::Refusal);
  CHECK_THROWS_AS(select_variant(stages[0], "", *model::find_gpu("H200"), 64, 64), model::Refusal);
}

}  // namespace flags
