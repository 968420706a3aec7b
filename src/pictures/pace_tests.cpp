#include "pictures/pace.h"

#include <doctest/doctest.h>

#include "pictures/warp_times.h"

namespace pictures {

namespace {

// Copies tile 0 in span 0 and multiplies it in span 1, and so on, in one place.
BlockPlan in_turn(int tiles) {
  BlockPlan plan{{}, 1, 2 * tiles, true};
  for (int t = 0; t < tiles; ++t) plan.tiles.push_back({0, 2 * t, 2 * t + 1, 2 * t + 1});
  return plan;
}

// Copies tile 0 in span 0; in span t + 1 copies the next one, and multiplies tile t.
BlockPlan one_ahead(int tiles) {
  BlockPlan plan{{}, 2, tiles + 1, false};
  for (int t = 0; t < tiles; ++t) plan.tiles.push_back({t % 2, t, t + 1, t + 1});
  return plan;
}

const Pace kPace{10, 30, 1, 2, 0};

}  // namespace

TEST_CASE("a block alone multiplies while it does not copy") {
  const std::vector<Work> work = schedule(in_turn(3), kPace, 1);
  REQUIRE(work.size() == 3);
  CHECK(work[0].copy_begin == 0);
  CHECK(work[0].multiply_begin == 10);
  CHECK(work[1].copy_begin == 40);
  CHECK(work[1].copy_end == 50);
  CHECK(work[2].multiply_end == 120);
  CHECK(multiplying(work) == doctest::Approx(0.75));
}

TEST_CASE("two blocks multiply in turn, and one copies while the other multiplies") {
  const std::vector<Work> work = schedule(in_turn(8), kPace, 2);
  REQUIRE(work.size() == 16);
  CHECK(work[0].multiply_begin == 10);
  CHECK(work[8].copy_begin == 10);
  CHECK(work[8].copy_end == 20);
  CHECK(work[8].multiply_begin == 40);
  CHECK(work[1].multiply_begin == 70);
  CHECK(multiplying(work) == doctest::Approx(1));
}

TEST_CASE("a block that copies ahead multiplies all the time, unless copying takes longer") {
  CHECK(multiplying(schedule(one_ahead(8), kPace, 1)) == doctest::Approx(1));
  const Pace slow{60, 30, 1, 1, 0};
  CHECK(multiplying(schedule(one_ahead(8), slow, 1)) == doctest::Approx(0.5));
  CHECK(multiplying(schedule(in_turn(8), slow, 1)) == doctest::Approx(1 / 3.0));
  CHECK(multiplying({}) == 0);
}

TEST_CASE("the warp that loads first waits longest for the others") {
  model::Variant variant{};
  TracedStage stage{nullptr, &variant, {}};
  stage.block.threads = 64;
  const auto request = [&](int warp, int epoch, const char* array, bool shared,
                           model::Direction direction, int pieces) {
    stage.block.requests.push_back({warp, epoch, 0, array, shared, direction, {}, pieces, 0});
  };
  for (const int warp : {0, 1}) {
    request(warp, 0, "A", false, model::Direction::load, 4);
    request(warp, 0, "As", true, model::Direction::store, 2);
    request(warp, 1, "As", true, model::Direction::load, 1);
    request(warp, 2, "C", false, model::Direction::store, 8);
  }
  const Pace pace{0, 30, 16, 1, 0};  // a sector takes L2 two cycles
  const std::vector<WarpSpan> spans = warp_times(stage, pace);
  REQUIRE(spans.size() == 6);
  CHECK(spans[0].loaded == 8);
  CHECK(spans[0].stored == 10);
  CHECK(spans[1].loaded == 16);
  CHECK(spans[1].stored == 18);
  CHECK(spans[0].end == 18);
  CHECK(spans[1].end == 18);
  CHECK(spans[2].reads_tiles);
  CHECK(spans[2].begin == 18);
  CHECK(spans[2].end == 48);
  // At the end nobody waits for anybody.
  CHECK(spans[4].end == 64);
  CHECK(spans[5].end == 80);
}

}  // namespace pictures
