#include "model/choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "lab/stage_tables.h"

namespace model {

namespace {

Variant tile(const char* name, int BM, int BN, bool for_small) {
  Variant variant{};
  variant.name = name;
  variant.BM = BM;
  variant.BN = BN;
  variant.for_small = for_small;
  return variant;
}

// The third variant has the smallest tile but is not marked.
const Stage kStage{
    .number = 1,
    .name = "",
    .idea = "",
    .needs = 0,
    .predicted = {},
    .variants = {
        tile("128x128", 128, 128, false), tile("64x128", 64, 128, true), tile("8x8", 8, 8, false),
        tile("64x64", 64, 64, true)}};

std::string suited(const char* gpu, int M, int N) {
  return suited_variant(kStage, *find_gpu(gpu), M, N).name;
}

// Stages of the lesson that have kernels.
std::vector<const Stage*> stages() {
  std::vector<const Stage*> all;
  for (const Stage& stage : stage_table_plain.stages) {
    if (!stage.variants.empty()) all.push_back(&stage);
  }
  return all;
}

const Variant* chosen(const Stage& stage, const Gpu& gpu, int M, int N) {
  return &suited_variant(stage, gpu, M, N);
}

}  // namespace

TEST_CASE("the busiest SM computes whole tiles, and one more than its share if there is a rest") {
  const Gpu& h200 = *find_gpu("H200");  // 132 SMs
  CHECK(spread(kStage.variants[0], h200, 1408, 1408).tiles == 121);
  CHECK(spread(kStage.variants[0], h200, 1408, 1408).results == 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 1409, 1408).tiles == 132);
  CHECK(spread(kStage.variants[0], h200, 1409, 1408).results == 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 1409, 1409).results == 2 * 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 1, 1).results == 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 2147483647, 2147483647).tiles == 1LL << 48);
}

TEST_CASE(
    "a smaller tile is chosen where the busiest SM then computes at most 3/4 of the results") {
  // 64 tiles of 128 x 128: 68 SMs of an H200 would have none. 128 of 64 x 128 are one per SM, and
  // 256 of 64 x 64 are two for some, which is as much.
  CHECK(suited("H200", 1024, 1024) == "64x128");
  CHECK(suited("H200", 256, 256) == "64x64");
  // One tile per SM, 121 of 132: 4 small tiles per SM would be as much.
  CHECK(suited("H200", 1408, 1408) == "128x128");
  // 144 tiles: 12 SMs would compute two. Of 288 tiles the busiest computes three, which is 3/4.
  CHECK(suited("H200", 1536, 1536) == "64x128");
  // 82 SMs: 64 tiles leave 18 idle, but of 128 and 256 smaller ones the busiest computes as much.
  CHECK(suited("RTX 3090", 1024, 1024) == "128x128");
  // A single row of C: the tiles' rows are wasted alike, and their columns decide.
  CHECK(suited("H200", 1, 14336) == "64x128");
  CHECK(suited("H200", 1, 128) == "64x64");
}

TEST_CASE("on tensor cores, the loads of small tiles count, too") {
  // H200: 946 multiply-adds of tf32 per SM and clock, and 64 bytes. In one step of K, a tile of
  // 128 x 128 takes 17 clocks and 16 for its loads, and one of 64 x 64 takes 4 and 8.
  const Gpu& h200 = *find_gpu("H200");
  Stage stage = kStage;
  for (Variant& variant : stage.variants) {
    variant.multiplier = Multiplier::wgmma_tf32;
    variant.pipeline = 3;
  }
  const auto suited = [&](int side) {
    return std::string(suited_variant(stage, h200, side, side).name);
  };
  const double products = 494.7e3 / (2 * 132 * h200.boost_ghz);
  CHECK(
      spread(stage.variants[0], h200, 1024, 1024).clocks ==
      doctest::Approx(128 * 128 / products + 256 * 4 / (l2_bytes_per_clock(h200) / 132)));
  CHECK(suited(512) == "64x64");    // one tile instead of one
  CHECK(suited(1024) == "64x128");  // 128 tiles, one per SM; two of 64 x 64 would load more
  CHECK(suited(1536) == "128x128");
}

// Measured on an H200: 128x128x32 is 1.30 times as fast as 64x64x32 at 1024 x 1024 x 1024, and 0.84
// times at 512, where no SM gets two tiles.
TEST_CASE("stage 13 runs the tile that is fastest on an H200 at each size") {
  const auto found = std::ranges::find(stage_table_plain.stages, 13, &Stage::number);
  REQUIRE(found != stage_table_plain.stages.end());
  const auto suited = [&](int side) {
    return std::string(suited_variant(*found, *find_gpu("H200"), side, side).name);
  };
  CHECK(suited(512) == "64x64x32");
  CHECK(suited(768) == "128x128x32");
  CHECK(suited(1024) == "128x128x32");
  CHECK(suited(1536) == "256x128x32");
  CHECK(suited(4096) == "256x128x32");
}

TEST_CASE("at equal results, a stage without a pipeline gets more warps if it has fewer than 12") {
  Stage stage = kStage;
  stage.variants[0].block_x = stage.variants[0].block_y = 8;  // 2 warps
  stage.variants[1].block_x = 32, stage.variants[1].block_y = 8;
  // One tile per SM on 121 of 132, or up to two of half its size, which would have 16 warps.
  CHECK(suited_variant(stage, *find_gpu("H200"), 1408, 1408).name == std::string("64x128"));
  stage.variants[0].pipeline = 3;
  CHECK(suited_variant(stage, *find_gpu("H200"), 1408, 1408).name == std::string("128x128"));
  stage.variants[0].pipeline = 0;
  stage.variants[0].block_y = 48;  // 12 warps
  CHECK(suited_variant(stage, *find_gpu("H200"), 1408, 1408).name == std::string("128x128"));
}

TEST_CASE("an empty C and the paper GPU get the first variant") {
  CHECK(suited("H200", 0, 256) == "128x128");
  CHECK(suited("H200", 256, 0) == "128x128");
  CHECK(suited("paper", 256, 256) == "128x128");
}

TEST_CASE("a variant whose shared memory a block cannot have on that GPU is not chosen") {
  Stage stage = kStage;
  const Gpu& rtx = *find_gpu("RTX 3090");  // 99 KB
  stage.variants[0].shared_bytes = 100 * 1024;
  stage.variants[3].shared_bytes = 100 * 1024;
  CHECK(suited_variant(stage, *find_gpu("H200"), 256, 256).name == std::string("64x64"));
  CHECK(first_variant(stage, rtx).name == std::string("64x128"));
  CHECK(suited_variant(stage, rtx, 8192, 8192).name == std::string("64x128"));
  CHECK(suited_variant(stage, rtx, 256, 256).name == std::string("64x128"));
  for (Variant& variant : stage.variants) variant.shared_bytes = 300 * 1024;
  CHECK(first_variant(stage, rtx).name == std::string("128x128"));
}

TEST_CASE("every GPU has room for a variant of every stage, and for what runs in its place") {
  for (const Gpu& gpu : known_gpus()) {
    for (const Stage* stage : stages()) {
      CAPTURE(gpu.name);
      CAPTURE(stage->number);
      for (const bool aligned : {true, false}) {
        const Variant& runs = launched(first_variant(*stage, gpu), aligned);
        CHECK(runs.shared_bytes <= gpu.smem_bytes_per_block);
      }
    }
  }
}

TEST_CASE("a stage says what a GPU lacks to run its kernels") {
  Stage stage = kStage;
  const Gpu &t4 = *find_gpu("T4"), &a100 = *find_gpu("A100"), &paper = *find_gpu("paper");
  CHECK(why_not_run(stage, t4).empty());
  CHECK(is_traceable(stage, paper));
  stage.runs_from = 80;
  CHECK(why_not_run(stage, t4) == "needs sm_80");
  CHECK(is_traceable(stage, t4));
  CHECK(why_not_run(stage, a100).empty());
  CHECK(why_not_run(stage, paper) == "needs warps of 32");
  CHECK(!is_traceable(stage, paper));
  stage.runs_from = 90;
  stage.only_there = true;
  CHECK(why_not_run(stage, a100) == "needs sm_90a");
  CHECK(why_not_run(stage, *find_gpu("H200")).empty());
  CHECK(why_not_run(stage, *find_gpu("B200")) == "needs sm_90a");
}

TEST_CASE("beside a variant stands the one of its name, or the one that suits") {
  const Gpu& h200 = *find_gpu("H200");
  const auto beside = [&](const char* name) {
    return std::string(comparable_variant(tile(name, 1, 1, false), kStage, h200, 256, 256).name);
  };
  CHECK(beside("128x128") == "128x128");
  CHECK(beside("8x8") == "8x8");
  CHECK(beside("32x32") == "64x64");
}

TEST_CASE("every stage runs its first variant at 4096 and 8192, on every GPU") {
  for (const Gpu& gpu : known_gpus()) {
    CAPTURE(gpu.name);
    for (const Stage* stage : stages()) {
      CAPTURE(stage->number);
      CHECK(chosen(*stage, gpu, 4096, 4096) == &first_variant(*stage, gpu));
      CHECK(chosen(*stage, gpu, 8192, 8192) == &first_variant(*stage, gpu));
      CHECK(chosen(*stage, gpu, 8192, 4096) == &first_variant(*stage, gpu));
    }
  }
}

TEST_CASE("no stage runs a variant that is not marked for small products, and some run one") {
  int small = 0;
  for (const Gpu& gpu : known_gpus()) {
    for (const Stage* stage : stages()) {
      CAPTURE(stage->number);
      for (const int M : {1, 64, 255, 512, 1024, 1500, 3000}) {
        for (const int N : {1, 64, 255, 512, 1024, 1500, 3000}) {
          const Variant* variant = chosen(*stage, gpu, M, N);
          if (variant == &first_variant(*stage, gpu)) continue;
          CHECK(variant->for_small);
          ++small;
        }
      }
    }
  }
  CHECK(small > 0);
}

TEST_CASE("a stage's variants for small products have smaller tiles, or more warps for one tile") {
  for (const Stage* stage : stages()) {
    CAPTURE(stage->number);
    int area = stage->variants.front().BM * stage->variants.front().BN;
    int threads = 0;
    CHECK(!stage->variants.front().for_small);
    for (const Variant& variant : stage->variants) {
      if (!variant.for_small) continue;
      CAPTURE(std::string(variant.name));
      const bool same_area = variant.BM * variant.BN == area;
      CHECK((variant.BM * variant.BN < area || (same_area && variant.threads() > threads)));
      area = variant.BM * variant.BN;
      threads = variant.threads();
    }
  }
}

TEST_CASE("twice the rows and columns never get a smaller tile") {
  std::vector<const Stage*> all = stages();
  all.push_back(&kStage);
  for (const Gpu& gpu : known_gpus()) {
    CAPTURE(gpu.name);
    for (const Stage* stage : all) {
      CAPTURE(stage->number);
      for (int side = 64; side <= 4096; side += 64) {
        CAPTURE(side);
        CHECK(chosen(*stage, gpu, 2 * side, 2 * side) <= chosen(*stage, gpu, side, side));
      }
    }
  }
}

TEST_CASE("with three tiles per SM or more, the first variant runs") {
  for (const Gpu& gpu : known_gpus()) {
    CAPTURE(gpu.name);
    for (const Stage* stage : stages()) {
      CAPTURE(stage->number);
      for (int side = 256; side <= 8192; side += 256) {
        const Variant& first = first_variant(*stage, gpu);
        if (spread(first, gpu, side, side).tiles < 3LL * gpu.sms) continue;
        CAPTURE(side);
        CHECK(chosen(*stage, gpu, side, side) == &first);
      }
    }
  }
}

}  // namespace model
