#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/gpus.h"
#include "model/recording.h"
#include "show/pictures/block_times.h"
#include "show/pictures/pictures.h"
#include "testing/golden.h"
#include "text/numbers.h"

namespace pictures {

namespace {

// With the stage's first variant, in a product of one tile of C and `tiles` tiles along K, traced
// for the H200.
TracedStage first_block(const model::Stage& stage, int tiles) {
  const model::Variant& v = stage.variants[0];
  const lab::Problem p = lab::random_problem({v.BM, v.BN, tiles * v.BK}, 1, 0, 1);
  model::Recorder recorder{.blocks = {0}};
  lab::traced(p, stage_table_traced, v, {.gpu = model::find_gpu("H200"), .recorder = &recorder});
  return {&stage, &v, requests_of_block(recorder.launches.at(0), 0, p.M, p.N, p.K)};
}

// Stage 11's variant for large products, which cuts tiles of 128 x 256.
model::Variant balanced() {
  return model::find_stage(stage_table_plain.stages, 11)->variants[0];
}

}  // namespace

TEST_CASE("every K tile of every tile is computed once, by an SM that does nothing else then") {
  for (const auto& [tiles, k_tiles, sms] :
       {std::tuple{512, 512, 132}, {20, 128, 132}, {133, 256, 132}, {60, 64, 132}, {7, 100, 3}}) {
    CAPTURE(tiles);
    const model::ShareOut shares = balanced().share_out(tiles, k_tiles, sms);
    std::map<int, int> computed;  // K tiles by tile
    std::map<int, int> free;      // when an SM is, by SM
    long long work = 0;
    for (const SmTime& one : sm_times(shares, tiles, k_tiles, sms)) {
      CHECK(one.begin >= free[one.sm]);
      CHECK(one.sm < sms);
      CHECK(one.end > one.begin);
      free[one.sm] = one.end;
      computed[one.tile] += one.end - one.begin;
      work += one.end - one.begin;
    }
    CHECK(static_cast<int>(computed.size()) == tiles);
    for (const auto& [tile, all] : computed) CHECK(all == k_tiles);
    const int end = end_of(sm_times(shares, tiles, k_tiles, sms));
    const int uncut = end_of(sm_times({tiles, 1, k_tiles}, tiles, k_tiles, sms));
    CHECK(end >= (work + sms - 1) / sms);
    CHECK(end <= uncut);
    if (shares.parts > 1) CHECK(end < uncut);
  }
}

TEST_CASE("the blocks of a grid compute C row by row, and stage 11's order is band by band") {
  constexpr int kSide = 64, kTiles = 16;  // of a tile, and of tiles in a row of C
  const auto tiles_of = [](int number) {
    const model::Stage& stage = *model::find_stage(stage_table_traced.stages, number);
    const auto variant = std::ranges::find_if(
        stage.variants, [](const model::Variant& v) { return v.BM == kSide && v.BN == kSide; });
    const lab::Problem p =
        lab::random_problem({kTiles * kSide, kTiles * kSide, variant->BK}, 1, 0, 1);
    const std::vector<std::int64_t> blocks{7, 8, 15, 16};
    model::Recorder recorder{.blocks = blocks};
    machine::Machine machine{.gpu = model::find_gpu("H200"), .recorder = &recorder};
    machine.sample = [&](machine::Extent) { return blocks; };
    lab::traced(p, stage_table_traced, *variant, machine);
    std::vector<std::pair<int, int>> tiles;  // row and column
    for (const std::int64_t block : blocks) {
      const Written written =
          written_by(requests_of_block(recorder.launches.at(0), block, p.M, p.N, p.K));
      tiles.push_back({written.row / kSide, written.col / kSide});
    }
    return tiles;
  };
  using Tiles = std::vector<std::pair<int, int>>;
  CHECK(tiles_of(10) == Tiles{{0, 7}, {0, 8}, {0, 15}, {1, 0}});
  CHECK(tiles_of(11) == Tiles{{7, 0}, {0, 1}, {7, 1}, {0, 2}});
}

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

const Pace kPace{10, 30, 2, 0};

}  // namespace

TEST_CASE("blocks copy and multiply in the order of their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const char* title, const BlockPlan& plan, const Pace& pace, int blocks) {
    const std::vector<TileWork> work = schedule(plan, pace, blocks);
    std::string text = text::printed("multiplying %g\n", multiplying(work));
    for (const TileWork& w : work) {
      text += text::printed(
          "block %d, tile %d: copy %g to %g, multiply %g to %g\n", w.block, w.tile, w.copy_begin,
          w.copy_end, w.multiply_begin, w.multiply_end);
    }
    outputs.emplace_back(title, text);
  };
  const Pace slow{60, 30, 1, 0};
  add("in turn", in_turn(3), kPace, 1);
  add("two blocks in turn", in_turn(8), kPace, 2);
  add("ahead", one_ahead(8), kPace, 1);
  add("copies take longer, ahead", one_ahead(8), slow, 1);
  add("copies take longer, in turn", in_turn(8), slow, 1);
  CHECK(multiplying({}) == 0);
  testing::compare_with_golden("schedules", outputs);
}

namespace {

TracedStage traced(int tiles) {
  return first_block(*model::find_stage(stage_table_traced.stages, 16), tiles);
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
        [&](const model::RecordedAction& action) { return action.kind == kind; });
  };
  CHECK(count(Kind::box) == kTiles * (1 + v.BN / 32));
  // One for each tile that is copied, and one of each warpgroup when it has been multiplied.
  CHECK(count(Kind::arrive) == kTiles * (1 + v.BN / 64));
  // One of every warp, for each tile and each 8 of K.
  CHECK(count(Kind::multiply) == v.BN / 64 * 4 * kTiles * (v.BK / 8));
  double bytes = 0;
  for (const model::RecordedAction& recorded : stage.block.actions) {
    if (recorded.kind != Kind::box) continue;
    REQUIRE(recorded.matrix >= 0);
    const std::string& matrix = stage.block.arrays[recorded.matrix].name;
    const MatrixElement first = element_at(stage.block, matrix[0], recorded.first);
    CHECK((matrix == "A" ? first.col : first.row) % v.BK == 0);
    CHECK(recorded.rows == (matrix == "A" ? v.BM : v.BK));
    CHECK(recorded.row_bytes == 128);
    bytes += static_cast<double>(recorded.bytes);
  }
  CHECK(bytes == 4.0 * kTiles * v.BK * (v.BM + v.BN));
}

TEST_CASE("a ring's tiles are copied, multiplied and given back, place by place") {
  const Ring ring = ring_of(traced(10), {kCopy, kMultiply, 1, 0});
  REQUIRE(ring.tiles.size() == 10);
  CHECK(ring.places == 4);
  check_order(ring);
  // Copying takes longer here, so the tensor cores wait, all but once.
  CHECK(ring.multiplying < 0.9);
  for (std::size_t k = 1; k < ring.tiles.size(); ++k) {
    CHECK(ring.tiles[k].copy_begin == doctest::Approx(ring.tiles[k - 1].copy_end));
  }
}

TEST_CASE("if multiplying takes longer, the copies wait for places in the ring") {
  const Ring ring = ring_of(traced(10), {kCopy, 4 * kMultiply, 1, 0});
  check_order(ring);
  CHECK(ring.multiplying == doctest::Approx(1));
  const RingTile& last = ring.tiles.back();
  CHECK(last.granted > last.requested);
  CHECK(last.copy_begin == doctest::Approx(last.granted));
}

TEST_CASE("threads that wait for each other have no schedule") {
  TracedStage stage = traced(6);
  std::vector<model::RecordedAction>& actions = stage.block.actions;
  const auto of = [&](model::RecordedAction::Kind kind) {
    return *std::ranges::find(actions, kind, &model::RecordedAction::kind);
  };
  // The copying thread waits for the first tile before it starts the copy.
  model::RecordedAction wait = of(model::RecordedAction::Kind::wait);
  wait.thread = of(model::RecordedAction::Kind::box).thread;
  wait.barrier = of(model::RecordedAction::Kind::box).barrier;
  wait.value = 0;
  actions.insert(actions.begin(), wait);
  CHECK_THROWS_AS(ring_of(stage, {kCopy, kMultiply, 1, 0}), std::logic_error);
}

TEST_CASE("the ring is that of the first stage whose warps copy or multiply") {
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.variants.empty() || stage.variants[0].BK == 0) continue;
    CAPTURE(stage.number);
    const bool is_it = std::string(stage.name) == "specialized warps";
    CHECK(has_ring(first_block(stage, 4)) == is_it);
    if (is_it) return;
  }
  FAIL("no stage has a ring");
}

}  // namespace pictures
