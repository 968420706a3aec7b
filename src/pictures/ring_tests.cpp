#include "pictures/ring.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/recording.h"

namespace pictures {

namespace {

// What the first block of the stage does in a product of so many tiles. Both have rings of boxes.
TracedStage traced(int tiles, int number = 13) {
  const auto stage = std::ranges::find(stage_table_traced.stages, number, &model::Stage::number);
  REQUIRE(stage != stage_table_traced.stages.end());
  const model::Variant& v = stage->variants[0];
  const lab::Problem p = lab::random_problem({v.BM, v.BN, tiles * v.BK}, 1, 0, 1);
  model::Recorder recorder{.blocks = {0}};
  lab::Means means{{model::find_gpu("H200")}};
  means.machine.recorder = &recorder;
  lab::Floats C;
  lab::measure(p, {.traced = lab::gemm_of(stage_table_traced, v)}, means, C);
  return {&*stage, &v, requests_of_block(recorder.launches.at(0), 0, p.M, p.N, p.K)};
}

constexpr double kCopy = 100, kMultiply = 80;

void check_order(const Ring& ring) {
  for (std::size_t k = 0; k < ring.tiles.size(); ++k) {
    const RingTile& tile = ring.tiles[k];
    CAPTURE(k);
    CHECK(tile.place == static_cast<int>(k) % ring.places);
    CHECK(tile.phase == k / ring.places);
    CHECK(tile.copy_end == doctest::Approx(tile.copy_begin + kCopy));
    REQUIRE(tile.uses.size() == 2);
    for (const Use& use : tile.uses) {
      CHECK(use.begin >= tile.copy_end);
      CHECK(use.loaded > use.begin);
      CHECK(use.multiply_begin >= use.loaded);
      CHECK(use.released >= use.multiply_end);
    }
    if (k < static_cast<std::size_t>(ring.places)) continue;
    // Both warpgroups have given the place back before it is filled again.
    for (const Use& use : ring.tiles[k - ring.places].uses) {
      CHECK(tile.granted >= use.released);
      CHECK(tile.copy_begin >= use.released);
    }
  }
}

}  // namespace

TEST_CASE("a recording has the boxes, arrivals, waits and multiplications of a block") {
  using Kind = model::RecordedAction::Kind;
  constexpr int kTiles = 6;
  const TracedStage stage = traced(kTiles);
  const model::Variant& v = *stage.variant;
  const auto count = [&](Kind kind) {
    return std::count_if(
        stage.block.actions.begin(), stage.block.actions.end(),
        [&](const Action& action) { return action.told.kind == kind; });
  };
  CHECK(count(Kind::box) == kTiles * (1 + v.BN / 32));
  // One for each tile that is copied, and one of each warpgroup when it has been multiplied.
  CHECK(count(Kind::arrive) == kTiles * (1 + v.BN / 64));
  // Of every warp, for each tile and 8 of K.
  CHECK(count(Kind::multiply) == v.BN / 64 * 4 * kTiles * (v.BK / 8));
  double bytes = 0;
  for (const auto& [told, requests] : stage.block.actions) {
    if (told.kind != Kind::box) continue;
    REQUIRE(told.matrix >= 0);
    const std::string& matrix = stage.block.arrays[told.matrix].name;
    const Element first = element_at(stage.block, matrix[0], told.first);
    CHECK((matrix == "A" ? first.col : first.row) % v.BK == 0);
    CHECK(told.rows == (matrix == "A" ? v.BM : v.BK));
    CHECK(told.row_bytes == 128);
    bytes += static_cast<double>(told.bytes);
  }
  CHECK(bytes == 4.0 * kTiles * v.BK * (v.BM + v.BN));
}

TEST_CASE("a ring's tiles are copied, multiplied and given back, place by place") {
  const Ring ring = ring_of(traced(10), {kCopy, kMultiply, 0, 1, 0});
  REQUIRE(ring.tiles.size() == 10);
  CHECK(ring.places == 4);
  check_order(ring);
  // Copying takes longer here, so the tensor cores wait, all but once.
  CHECK(ring.multiplying < 0.9);
  for (std::size_t k = 1; k < ring.tiles.size(); ++k) {
    CHECK(ring.tiles[k].copy_begin == doctest::Approx(ring.tiles[k - 1].copy_end));
  }
}

TEST_CASE("low parts of a tile are made when it has come, and before it is multiplied") {
  for (const double multiply : {kMultiply, 40 * kMultiply}) {
    CAPTURE(multiply);
    const Ring ring = ring_of(traced(10, 14), {kCopy, multiply, 0, 1, 0});
    REQUIRE(ring.tiles.size() == 10);
    CHECK(ring.places == 4);
    check_order(ring);
    for (const RingTile& tile : ring.tiles) {
      REQUIRE(tile.split);
      CHECK(tile.split->begin >= tile.copy_end);
      // 128 x 32 floats are loaded and stored, 32 of them in a cycle.
      CHECK(tile.split->end - tile.split->begin >= 2 * 128);
      for (const Use& use : tile.uses) CHECK(use.begin >= tile.split->end);
    }
  }
  CHECK_FALSE(ring_of(traced(6), {kCopy, kMultiply, 0, 1, 0}).tiles[0].split);
}

TEST_CASE("if multiplying takes longer, the copies wait for places in the ring") {
  const Ring ring = ring_of(traced(10), {kCopy, 4 * kMultiply, 0, 1, 0});
  check_order(ring);
  CHECK(ring.multiplying == doctest::Approx(1));
  const RingTile& last = ring.tiles.back();
  CHECK(last.granted > last.asked);
  CHECK(last.copy_begin == doctest::Approx(last.granted));
}

TEST_CASE("threads that wait for each other have no schedule") {
  TracedStage stage = traced(6);
  std::vector<Action>& actions = stage.block.actions;
  const auto of = [&](model::RecordedAction::Kind kind) {
    return *std::find_if(
        actions.begin(), actions.end(), [&](const Action& a) { return a.told.kind == kind; });
  };
  // The copying thread waits for the first tile before it has it copied.
  Action wait = of(model::RecordedAction::Kind::wait);
  wait.told.thread = of(model::RecordedAction::Kind::box).told.thread;
  wait.told.barrier = of(model::RecordedAction::Kind::box).told.barrier;
  wait.told.value = 0;
  actions.insert(actions.begin(), wait);
  CHECK_THROWS_AS(ring_of(stage, {kCopy, kMultiply, 0, 1, 0}), std::logic_error);
}

}  // namespace pictures
