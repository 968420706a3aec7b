#include "show/pictures/block_times.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "lab/run.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

using ActionKind = model::RecordedAction::Kind;
using Phase = std::pair<std::uint32_t, std::uint64_t>;  // of a barrier

// A span of a ring lasts until the first thread that multiplies has waited for the next tile.
BlockPlan plan_of_ring(const std::vector<model::RecordedAction>& actions) {
  BlockPlan plan{{}, 0, 0, false};
  std::map<Phase, int> tile_of;         // the tile whose bytes that phase counts
  std::map<std::uint64_t, int> places;  // by the address of the first box there
  for (const model::RecordedAction& action : actions) {
    const auto next = static_cast<int>(plan.tiles.size());
    if (action.kind != ActionKind::box ||
        !tile_of.try_emplace({action.barrier, action.value}, next).second) {
      continue;
    }
    const auto place = places.try_emplace(action.to, static_cast<int>(places.size())).first;
    plan.tiles.push_back({place->second, 0, 0});
  }
  plan.places = static_cast<int>(places.size());
  const auto first = [&](ActionKind kind) {  // thread
    const auto is_of_tile = [&](const model::RecordedAction& action) {
      return action.kind == kind && tile_of.contains({action.barrier, action.value});
    };
    return std::ranges::find_if(actions, is_of_tile)->thread;
  };
  const int copying = first(ActionKind::box), multiplying = first(ActionKind::wait);
  std::map<Phase, int> given_back;  // the span in which that phase gives a place back
  for (const model::RecordedAction& action : actions) {
    const Phase phase{action.barrier, action.value};
    if (action.thread != multiplying) continue;
    if (action.kind == ActionKind::arrive) given_back[phase] = plan.spans;
    if (action.kind != ActionKind::wait || !tile_of.contains(phase)) continue;
    plan.tiles[tile_of[phase]].first_read = ++plan.spans;
  }
  int span = 0;
  for (const model::RecordedAction& action : actions) {
    const Phase phase{action.barrier, action.value};
    if (action.thread != copying) continue;
    if (action.kind == ActionKind::wait && given_back.contains(phase))
      span = std::max(span, given_back[phase]);
    if (action.kind == ActionKind::wait && tile_of.contains(phase))  // it multiplies, too
      span = plan.tiles[tile_of[phase]].first_read;
    if (action.kind == ActionKind::box) plan.tiles[tile_of[phase]].copied = span;
  }
  ++plan.spans;
  return plan;
}

}  // namespace

bool has_ring(const TracedStage& stage) {
  return std::ranges::count(stage.block.actions, ActionKind::box, &model::RecordedAction::kind) > 0;
}

BlockPlan plan_of(const TracedStage& stage) {
  if (has_ring(stage)) return plan_of_ring(stage.block.actions);
  BlockPlan plan{{}, 0, 0, true};
  std::map<int, Stay> tiles;
  std::map<int, std::uint64_t> lowest;  // address of a tile
  const BlockRequests& block = stage.block;
  const int BK = stage.row.variant->BK;
  for (const Moved& moved : elements_moved(block)) {
    const model::RecordedEvent& request = block.events[moved.request];
    const model::Direction direction = block.site_of(request).direction;
    const MatrixElement& e = moved.elements[0];
    if (e.matrix != 'A' || !block.array_of(request).shared) continue;
    const int lane = block.warp.lane_of(moved.thread), tile = e.col / BK;
    if (direction == model::Direction::load) {
      tiles.at(tile).first_read = std::min(tiles.at(tile).first_read, request.epoch);
      continue;
    }
    plan.copies_wait &= direction != model::Direction::copy;
    tiles.try_emplace(tile, Stay{0, request.epoch, 1 << 30});
    const auto at = lowest.try_emplace(tile, ~std::uint64_t{0}).first;
    at->second = std::min(at->second, request.access.address[lane]);
  }
  std::map<std::uint64_t, int> places;  // by the lowest address of a tile there
  for (auto& [tile, stay] : tiles) {
    stay.place = places.try_emplace(lowest[tile], static_cast<int>(places.size())).first->second;
    plan.tiles.push_back(stay);
  }
  plan.places = static_cast<int>(places.size());
  for (const model::RecordedEvent& request : block.events) {
    plan.spans = std::max(plan.spans, request.epoch + 1);
  }
  return plan;
}

namespace {

// A part of a block's span.
struct SpanStep {
  bool copies;
  int tile;
};

std::vector<SpanStep> steps_of(const BlockPlan& plan) {
  std::vector<SpanStep> steps;
  const int tiles = static_cast<int>(plan.tiles.size());
  for (int span = 0; span < plan.spans; ++span) {
    for (int t = 0; t < tiles; ++t) {
      if (plan.tiles[t].copied == span) steps.push_back({true, t});
    }
    for (int t = 0; t < tiles; ++t) {
      if (plan.tiles[t].first_read == span) steps.push_back({false, t});
    }
  }
  return steps;
}

}  // namespace

std::optional<Pace> pace_of(const lab::Run& run, const lab::Row& row) {
  const auto ceiling = lab::ceilings(run, row).compiled;
  if (!ceiling) return std::nullopt;
  const double most_blocks =  // of one SM; where blocks stay, tiles of C
      std::ceil(static_cast<double>(model::tiles_of(*row.variant, run.M, run.N)) / run.gpu.sms);
  const double tiles =
      static_cast<double>(model::padded_K(lab::product_of(run), *row.variant)) / row.variant->BK;
  const double cycles = run.gpu.boost_ghz * 1e6 / (most_blocks * tiles);  // of a tile, per ms
  return Pace{
      ceiling->copy_ms * cycles, ceiling->multiply_ms * cycles, row.occupancy->blocks_per_sm,
      ceiling->tflops};
}

std::vector<TileWork> schedule(const BlockPlan& plan, const Pace& pace, int blocks) {
  const std::vector<SpanStep> steps = steps_of(plan);
  const std::size_t tiles = plan.tiles.size();
  std::vector<TileWork> work;
  for (int block = 0; block < blocks; ++block) {
    for (std::size_t t = 0; t < tiles; ++t)
      work.push_back({block, static_cast<int>(t), 0, 0, 0, 0});
  }
  std::vector<std::size_t> next(blocks);  // of steps
  std::vector<double> ready(blocks);
  double copier_free = 0, multiplier_free = 0;
  const auto asks_at = [&](int block) {
    if (next[block] == steps.size()) return std::numeric_limits<double>::infinity();
    const SpanStep& step = steps[next[block]];
    const double copied = step.copies ? 0 : work[block * tiles + step.tile].copy_end;
    return std::max(ready[block], copied);
  };
  for (std::size_t left = steps.size() * blocks; left > 0; --left) {
    int block = 0;
    for (int other = 1; other < blocks; ++other) {
      if (asks_at(other) < asks_at(block)) block = other;
    }
    const double requested = asks_at(block);
    const SpanStep& step = steps[next[block]++];
    TileWork& one = work[block * tiles + step.tile];
    if (step.copies) {
      one.copy_begin = std::max(requested, copier_free);
      one.copy_end = copier_free = one.copy_begin + pace.copy;
      if (plan.copies_wait) ready[block] = one.copy_end;
    } else {
      one.multiply_begin = std::max(requested, multiplier_free);
      one.multiply_end = multiplier_free = ready[block] = one.multiply_begin + pace.multiply;
    }
  }
  return work;
}

double multiplying(const std::vector<TileWork>& work) {
  double first = std::numeric_limits<double>::infinity(), last = 0, busy = 0;
  for (const TileWork& one : work) {
    first = std::min(first, one.multiply_end);
    last = std::max(last, one.multiply_end);
    busy += one.multiply_end - one.multiply_begin;
  }
  const double once = work.empty() ? 0 : work[0].multiply_end - work[0].multiply_begin;
  return last > first ? (busy - once) / (last - first) : 0;
}

namespace {

constexpr double kTimesLeft = 90, kTimesWide = 684;

std::string percent(double share) {
  return text::printed("%.0f %%", 100 * share);
}

// A row for each place in shared memory of each block; returns the y below.
double draw_blocks(
    Svg& svg, double y, const Axis& time, const std::string& name, const PacedStage& stage,
    int blocks, double high) {
  const std::vector<TileWork> work = schedule(stage.plan, stage.pace, blocks);
  svg.bold(
      24, y,
      name + ", " + (blocks == 1 ? "one block" : std::to_string(blocks) + " blocks") +
          " on an SM: the SM multiplies " + percent(multiplying(work)) + " of the time");
  y += 12;
  const double top = y;
  for (int block = 0; block < blocks; ++block) {
    const double of_block = high * stage.plan.places;
    svg.small(24, y + of_block / 2 + 4.5, text::printed("block %d", block));
    svg.rect(kTimesLeft, y, kTimesWide, of_block, Fill::paper);
    for (const TileWork& one : work) {
      if (one.block != block) continue;
      const double at = y + stage.plan.tiles[one.tile].place * high;
      const auto words = [&](const char* what) { return text::printed("%s %d", what, one.tile); };
      svg.bar(time, one.copy_begin, one.copy_end, at, high, Fill::warp, words("copy"));
      svg.bar(time, one.copy_end, one.multiply_begin, at, high, Fill::waiting, words("wait"));
      svg.bar(time, one.multiply_begin, one.multiply_end, at, high, Fill::one, words("multiply"));
    }
    y += of_block;
    svg.line(kTimesLeft, y, kTimesLeft + kTimesWide, y, "thin");
  }
  if (blocks > 1) return y + 36;
  // A block that waits for its copies reaches a barrier after each copy; every block after each
  // tile.
  for (const TileWork& one : work) {
    for (const double end : {one.copy_end, one.multiply_end}) {
      if (end == one.copy_end && !stage.plan.copies_wait) continue;
      if (end >= time.last) continue;
      svg.line(time.x(end), top - 7, time.x(end), top, "thick");
      svg.line(time.x(end), y, time.x(end), y + 7, "thick");
    }
  }
  return y + 36;
}

// The most tiles that are copied in advance, or in flight.
int most_ahead(const BlockPlan& plan) {
  std::ptrdiff_t most = 0;
  for (int span = 0; span < plan.spans; ++span) {
    most = std::max(most, std::ranges::count_if(plan.tiles, [&](const Stay& s) {
                      return s.copied <= span && span < s.first_read;
                    }));
  }
  return static_cast<int>(most);
}

std::string finding_of(
    const PacedStage& before, const PacedStage& after, const RecordedLadder& measured) {
  const auto share = [](const PacedStage& stage, int blocks) {
    return percent(multiplying(schedule(stage.plan, stage.pace, blocks)));
  };
  const int old_number = before.number, number = after.number;
  return text::printed(
             "By the ceiling model, an SM needs %.0f cycles to copy a tile of stage %d and ",
             before.pace.copy, old_number) +
         text::grouped(std::lround(before.pace.multiply)) + " to multiply it. " +
         text::printed("With one block of stage %d it multiplies ", old_number) + share(before, 1) +
         text::printed(" of the time, with the %d that fit on it ", before.pace.blocks_per_sm) +
         share(before, before.pace.blocks_per_sm) +
         text::printed(
             ", because one copies while another multiplies. A block of stage %d copies up to %d "
             "tiles ahead: one block is enough for ",
             number, most_ahead(after.plan)) +
         share(after, 1) +
         ". The model knows no latency and no waiting at barriers, so its ceilings are " +
         text::significant(before.pace.ceiling_tflops) + " and " +
         text::significant(after.pace.ceiling_tflops) +
         text::printed(" TFLOP/s; measured, stage %d is ", number) +
         text::brief(measured.of(number).tflops / measured.of(old_number).tflops) +
         " times as fast.";
}

// The places of each stage over time, with one block on an SM and with as many as fit. `tick` is
// what the short lines at them mean.
Drawing draw_times(
    const std::vector<PacedStage>& stages, double last, const char* tick,
    const std::string& finding) {
  const Axis time{kTimesLeft, kTimesWide, last};
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "a tile is copied");
  x = svg.legend(x, 66, Fill::waiting, "it is there, and waits");
  x = svg.legend(x, 66, Fill::one, "it is multiplied");
  svg.line(x + 8, 56, x + 8, 63, "thick");
  svg.small(x + 18, 66, tick);
  svg.faint(
      24, 90,
      "A row is a place for a tile in shared memory. Lengths are the ceiling model's, for 4096 × "
      "4096 × 4096 on an H200.");
  double y = 122;
  for (const PacedStage& stage : stages) {
    const std::string name = text::printed("Stage %d", stage.number);
    const bool several_places = stage.plan.places > 1;
    y = draw_blocks(svg, y, time, name, stage, 1, several_places ? 20 : 26);
    if (stage.pace.blocks_per_sm == 1) continue;
    y = draw_blocks(svg, y, time, name, stage, stage.pace.blocks_per_sm, several_places ? 12 : 20);
  }
  y -= 16;
  svg.line(kTimesLeft, y, kTimesLeft + kTimesWide, y, "thin");
  return svg.with(finding, svg.ticks(time, y, 1000));
}

}  // namespace

Drawing draw_pipeline(
    const PacedStage& before, const PacedStage& after, const RecordedLadder& measured) {
  constexpr double kTilesShown = 3.5;  // of one block of the stage before
  return draw_times(
      {before, after}, kTilesShown * (before.pace.copy + before.pace.multiply), "a barrier",
      finding_of(before, after, measured));
}

Drawing draw_ring(const PacedStage& stage) {
  const BlockPlan& plan = stage.plan;
  const std::vector<TileWork> work = schedule(plan, stage.pace, 1);
  const auto at_once = std::ranges::count(plan.tiles, 0, &Stay::copied);
  const std::string finding =
      text::printed(
          "The ring of stage %d has %d places. By the ceiling model, a tile along K takes %.0f "
          "cycles to copy and ",
          stage.number, plan.places, stage.pace.copy) +
      text::grouped(std::lround(stage.pace.multiply)) +
      text::printed(
          " to multiply. One thread has the copy engine fill %d places at once. Tile %d can come "
          "when all warps have given back place %d, after ",
          static_cast<int>(at_once), plan.places, plan.tiles[plan.places].place) +
      text::grouped(std::lround(work[0].multiply_end)) +
      text::printed(
          " cycles. From the first multiplication on, the tensor cores work %s of the time.",
          percent(multiplying(work)).c_str());
  return draw_times({stage}, work.back().multiply_end, "its place is given back", finding);
}

}  // namespace pictures
