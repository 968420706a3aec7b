#include "show/pictures/block_times.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "lab/run.h"
#include "model/tensor_core.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

BlockPlan plan_of(const TracedStage& stage) {
  BlockPlan plan{{}, 0, 0, true};
  std::map<int, Stay> tiles;
  std::map<int, std::uint64_t> lowest;  // address of a tile
  const BlockRequests& block = stage.block;
  const int BK = stage.row.variant->BK;
  const auto copied = [&](int tile, const model::RecordedEvent& to, int lane) {
    tiles.try_emplace(tile, Stay{0, to.epoch, 1 << 30, -1});
    const auto at = lowest.try_emplace(tile, ~std::uint64_t{0}).first;
    at->second = std::min(at->second, to.access.address[lane]);
  };
  for (const Moved& moved : elements_moved(block)) {
    const model::RecordedEvent& request = block.events[moved.request];
    const model::Direction direction = block.site_of(request).direction;
    const bool shared = block.array_of(request).shared;
    const MatrixElement& e = moved.elements[0];
    if (e.matrix != 'A') continue;
    const int lane = block.warp.lane_of(moved.thread), tile = e.col / BK;
    if (direction == model::Direction::copy) {
      copied(tile, block.events[moved.request - 1], lane);
      plan.copies_wait = false;
    } else if (shared && direction == model::Direction::store) {
      copied(tile, request, lane);
    } else if (shared) {
      Stay& stay = tiles.at(tile);
      stay.first_read = std::min(stay.first_read, request.epoch);
      stay.last_read = std::max(stay.last_read, request.epoch);
    }
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

Pace pace_of(const lab::Run& run, const lab::Row& row) {
  const auto ceiling = lab::ceilings(run, row).compiled;
  if (!ceiling || !row.occupancy || row.variant->BK == 0) {
    throw std::logic_error("no pace: the kernel has no ceiling");
  }
  const double most_blocks =  // of one SM; where blocks stay, tiles of C
      std::ceil(static_cast<double>(model::tiles_of(*row.variant, run.M, run.N)) / run.gpu.sms);
  const double tiles =
      static_cast<double>(model::padded_K(lab::product_of(run), *row.variant)) / row.variant->BK;
  const double cycles = run.gpu.boost_ghz * 1e6 / (most_blocks * tiles);  // of a tile, per ms
  return {
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

}  // namespace

Drawing draw_pipeline(
    const PacedStage& before, const PacedStage& after, const RecordedLadder& measured) {
  const std::string finding = finding_of(before, after, measured);
  constexpr double kTilesShown = 3.5;  // of one block of the stage before
  const Axis time{kTimesLeft, kTimesWide, kTilesShown * (before.pace.copy + before.pace.multiply)};
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "a tile is copied");
  x = svg.legend(x, 66, Fill::waiting, "it is there, and waits");
  x = svg.legend(x, 66, Fill::one, "it is multiplied");
  svg.line(x + 8, 56, x + 8, 63, "thick");
  svg.small(x + 18, 66, "a barrier");
  svg.faint(
      24, 90,
      "A row is a place for a tile in shared memory. Lengths are the ceiling model's, for 4096 × "
      "4096 × 4096 on an H200.");
  double y = 122;
  for (const PacedStage* stage : {&before, &after}) {
    const std::string name = text::printed("Stage %d", stage->number);
    const bool several_places = stage->plan.places > 1;
    y = draw_blocks(svg, y, time, name, *stage, 1, several_places ? 20 : 26);
    if (stage->pace.blocks_per_sm == 1) continue;
    y = draw_blocks(
        svg, y, time, name, *stage, stage->pace.blocks_per_sm, several_places ? 12 : 20);
  }
  y -= 16;
  svg.line(kTimesLeft, y, kTimesLeft + kTimesWide, y, "thin");
  return svg.with(finding, svg.ticks(time, y, 1000));
}

namespace {

using ActionKind = model::RecordedAction::Kind;
using Phase = std::pair<std::uint32_t, std::uint64_t>;  // of a barrier

// The time at which a phase's awaited work is done.
struct Completion {
  int missing = 0;  // arrivals and boxes
  double at = 0;
};

enum class WarpTask { copy, multiply };

// One thread in the replay: the one that copies, or the first of a warpgroup.
struct Player {
  int thread;
  WarpTask task;
  int group;  // of those with the same task, from 0
  std::vector<model::RecordedAction> actions;
  std::size_t next = 0;
  double now = 0;
  double requested = 0;                 // when it began to wait for a place, or for a tile
  std::vector<double> multiplied = {};  // when each of its multiplications ends
  std::vector<int> tiles = {};          // that it has waited for, in order
  std::size_t released = 0;
};

struct Play {
  const TracedStage& stage;
  const Pace& pace;
  std::vector<Player> players;
  std::map<Phase, Completion> phases;
  std::map<Phase, int> tile_of;         // the tile whose bytes that phase counts
  std::map<std::uint64_t, int> places;  // of the ring, by the address of the first box there
  Ring ring{0, {}, 0};
  double tile_bytes = 0;
  int multiplications = 0;  // of the block, for a tile
  double engine_free = 0, tensor_free = 0;
  double tensor_busy = 0, first_multiply = -1;
};

bool copies(const model::RecordedAction& action) {
  return action.kind == ActionKind::box;
}

// The threads that copy or multiply and arrive at barriers. All others do the same as these, or
// wait.
std::vector<Player> players_of(const BlockRequests& block) {
  std::map<int, std::vector<model::RecordedAction>> by_thread;
  std::set<int> that_copy, that_multiply, that_arrive;
  for (const model::RecordedAction& action : block.actions) {
    const int thread = action.thread;
    by_thread[thread].push_back(action);
    if (copies(action)) that_copy.insert(thread);
    if (action.kind == ActionKind::multiply) that_multiply.insert(thread);
    if (action.kind == ActionKind::arrive) that_arrive.insert(thread);
  }
  std::vector<Player> players;
  std::map<WarpTask, int> groups;
  for (auto& [thread, actions] : by_thread) {
    if (!that_copy.contains(thread) && !that_arrive.contains(thread)) continue;
    const WarpTask task = that_copy.contains(thread) ? WarpTask::copy : WarpTask::multiply;
    players.push_back({thread, task, groups[task]++, std::move(actions)});
  }
  // The copies come first: they define the tiles.
  std::ranges::stable_sort(players, {}, &Player::task);
  return players;
}

// Finds the tiles, and what each phase waits for.
void prepare(Play& play) {
  const auto place = [&](std::uint64_t first_box) {
    return play.places.try_emplace(first_box, static_cast<int>(play.places.size())).first->second;
  };
  for (const Player& player : play.players) {
    for (const model::RecordedAction& recorded : player.actions) {
      if (recorded.kind == ActionKind::arrive) {
        ++play.phases[{recorded.barrier, recorded.value}].missing;
      } else if (copies(recorded)) {
        const Phase phase{recorded.barrier, recorded.value};
        ++play.phases[phase].missing;
        const auto [tile, is_first] =
            play.tile_of.try_emplace(phase, static_cast<int>(play.ring.tiles.size()));
        if (is_first) {
          play.ring.tiles.push_back(
              {place(recorded.to), static_cast<unsigned>(phase.second), 0, 0, 0, 0, {}});
        }
        if (tile->second == 0) play.tile_bytes += static_cast<double>(recorded.bytes);
      } else if (recorded.kind == ActionKind::multiply) {
        ++play.multiplications;
      }
    }
  }
  const int tiles = static_cast<int>(play.ring.tiles.size());
  play.multiplications /= std::max(tiles, 1);
  play.ring.places = static_cast<int>(play.places.size());
}

// The place that contains that byte of shared memory: the last one that begins at or before it.
int place_at(const Play& play, std::uint64_t byte) {
  const auto behind = play.places.upper_bound(byte);
  return behind == play.places.begin() ? -1 : std::prev(behind)->second;
}

// The cycles in which shared memory serves this player's warp, and the others with the same task,
// until the next action.
double cycles_of_requests(const Play& play, const Player& player) {
  constexpr int kWarpsOfGroup = 4;
  const BlockRequests& block = play.stage.block;
  const std::size_t from = player.actions[player.next].events;
  const std::size_t to = player.next + 1 < player.actions.size()
                             ? player.actions[player.next + 1].events
                             : block.events.size();
  double wavefronts = 0;
  for (std::size_t r = from; r < to; ++r) {
    const model::RecordedEvent& request = block.events[r];
    if (block.array_of(request).shared && request.warp == block.warp.warp_of(player.thread))
      wavefronts += request.pieces;
  }
  return kWarpsOfGroup * wavefronts;
}

// Whether the next action can happen: what it waits for is done.
bool is_ready(const Play& play, const Player& player) {
  if (player.next == player.actions.size()) return false;
  const model::RecordedAction& recorded = player.actions[player.next];
  if (recorded.kind != ActionKind::wait) return true;
  const auto phase = play.phases.find({recorded.barrier, recorded.value});
  return phase == play.phases.end() || phase->second.missing == 0;
}

void contribute(Play& play, const Phase& phase, double at) {
  Completion& completion = play.phases.at(phase);
  --completion.missing;
  completion.at = std::max(completion.at, at);
}

Use& use_of(Play& play, const Player& player, int tile) {
  std::vector<Use>& uses = play.ring.tiles[tile].uses;
  const auto group = static_cast<std::size_t>(player.group);
  if (uses.size() <= group) uses.resize(group + 1, {0, 0, 0, -1, 0, 0});
  return uses[group];
}

void wait(Play& play, Player& player, const model::RecordedAction& recorded) {
  const double requested = player.now;
  const auto phase = play.phases.find({recorded.barrier, recorded.value});
  if (phase != play.phases.end()) player.now = std::max(player.now, phase->second.at);
  if (player.task == WarpTask::copy) player.requested = requested;
  const auto tile = play.tile_of.find({recorded.barrier, recorded.value});
  if (player.task == WarpTask::copy || tile == play.tile_of.end()) return;
  const double begin = player.now;
  player.now += cycles_of_requests(play, player);
  player.tiles.push_back(tile->second);
  Use& use = use_of(play, player, tile->second);
  use.requested = requested;
  use.begin = begin;
  use.loaded = player.now;
}

void multiply(Play& play, Player& player, const model::RecordedAction& recorded) {
  // The tile at the descriptor's place: the last one there for which the thread has waited.
  const int place = place_at(play, model::decoded(recorded.value).start);
  const auto last = std::find_if(player.tiles.rbegin(), player.tiles.rend(), [&](int tile) {
    return play.ring.tiles[tile].place == place;
  });
  if (last == player.tiles.rend()) {
    throw std::logic_error("a multiplication of a tile that nobody waited for");
  }
  Use& use = use_of(play, player, *last);
  const double begin = std::max(player.now, play.tensor_free);
  const double cycles = play.pace.multiply / play.multiplications;
  play.tensor_free = begin + cycles;
  play.tensor_busy += cycles;
  if (play.first_multiply < 0) play.first_multiply = begin;
  if (use.multiply_begin < 0) use.multiply_begin = begin;
  use.multiply_end = play.tensor_free;
  player.multiplied.push_back(play.tensor_free);
}

void act(Play& play, Player& player) {
  const model::RecordedAction& recorded = player.actions[player.next];
  switch (recorded.kind) {
    case ActionKind::wait:
      wait(play, player, recorded);
      break;
    case ActionKind::arrive: {
      contribute(play, {recorded.barrier, recorded.value}, player.now);
      const bool releases = player.released < player.tiles.size();
      if (releases) use_of(play, player, player.tiles[player.released++]).released = player.now;
      break;
    }
    case ActionKind::box: {
      const Phase phase{recorded.barrier, recorded.value};
      RingTile& tile = play.ring.tiles[play.tile_of.at(phase)];
      const double begin = std::max(player.now, play.engine_free);
      if (tile.copy_end == 0) {
        tile.copy_begin = begin;
        tile.requested = std::exchange(player.requested, player.now);
        tile.granted = player.now;
      }
      play.engine_free =
          begin + play.pace.copy * static_cast<double>(recorded.bytes) / play.tile_bytes;
      tile.copy_end = play.engine_free;
      contribute(play, phase, play.engine_free);
      break;
    }
    case ActionKind::multiply:
      multiply(play, player, recorded);
      break;
    case ActionKind::multiplied:
      if (recorded.value > 0) {
        player.now = std::max(player.now, player.multiplied.at(recorded.value - 1));
      }
      break;
    case ActionKind::init:
      break;
  }
  ++player.next;
}

}  // namespace

bool has_ring(const TracedStage& stage) {
  std::set<int> that_copy, that_multiply;
  for (const model::RecordedAction& action : stage.block.actions) {
    if (copies(action)) that_copy.insert(action.thread);
    if (action.kind == ActionKind::multiply) that_multiply.insert(action.thread);
  }
  const auto multiplies = [&](int thread) { return that_multiply.contains(thread); };
  return !that_copy.empty() && !that_multiply.empty() &&
         std::ranges::none_of(that_copy, multiplies);
}

Ring ring_of(const TracedStage& stage, const Pace& pace) {
  Play play{stage, pace, players_of(stage.block), {}, {}, {}};
  prepare(play);
  const auto is_done = [](const Player& p) { return p.next == p.actions.size(); };
  while (!std::all_of(play.players.begin(), play.players.end(), is_done)) {
    Player* first = nullptr;
    for (Player& player : play.players) {
      if (is_ready(play, player) && (first == nullptr || player.now < first->now)) first = &player;
    }
    if (first == nullptr) throw std::logic_error("the threads of a block wait for each other");
    act(play, *first);
  }
  play.ring.multiplying = play.tensor_busy / (play.tensor_free - play.first_multiply);
  return play.ring;
}

namespace {

constexpr double kRingLeft = 132, kRingWide = 644, kRingHigh = 22;

std::string k_tile(std::size_t tile) {
  return text::printed("k %zu", tile);
}

double multiply_begin(const RingTile& tile) {
  return std::ranges::min(tile.uses, {}, &Use::multiply_begin).multiply_begin;
}

double multiply_end(const RingTile& tile) {
  return std::ranges::max(tile.uses, {}, &Use::multiply_end).multiply_end;
}

double released(const RingTile& tile) {
  return std::ranges::max(tile.uses, {}, &Use::released).released;
}

void name(Svg& svg, double y, const std::string& words) {
  svg.small(24, y + kRingHigh / 2 + 4.5, words);
  svg.rect(kRingLeft, y, kRingWide, kRingHigh, Fill::paper);
}

// A row for each place; returns the y below.
double draw_places(Svg& svg, double y, const Axis& time, const Ring& ring) {
  for (int place = 0; place < ring.places; ++place) {
    name(svg, y + place * kRingHigh, text::printed("place %d", place));
  }
  for (std::size_t k = 0; k < ring.tiles.size(); ++k) {
    const RingTile& tile = ring.tiles[k];
    const double at = y + tile.place * kRingHigh, begin = multiply_begin(tile);
    svg.bar(time, tile.copy_begin, tile.copy_end, at, kRingHigh, Fill::warp, k_tile(k));
    svg.bar(time, tile.copy_end, begin, at, kRingHigh, Fill::waiting);
    svg.bar(
        time, begin, released(tile), at, kRingHigh, Fill::one,
        text::printed("phase %u", tile.phase));
  }
  return y + ring.places * kRingHigh;
}

// A row for each group of warps that works; returns the y below.
double draw_workers(Svg& svg, double y, const Axis& time, const Ring& ring) {
  const auto row = [&](const std::string& words, const auto& draw) {
    name(svg, y, words);
    for (std::size_t k = 0; k < ring.tiles.size(); ++k) draw(ring.tiles[k], k);
    y += kRingHigh;
  };
  row("copying thread", [&](const RingTile& tile, std::size_t) {
    svg.bar(time, tile.requested, tile.granted, y, kRingHigh, Fill::waiting);
  });
  row("copy engine", [&](const RingTile& tile, std::size_t k) {
    svg.bar(time, tile.copy_begin, tile.copy_end, y, kRingHigh, Fill::warp, k_tile(k));
  });
  for (std::size_t group = 0; group < ring.tiles.at(0).uses.size(); ++group) {
    row(text::printed("warpgroup %zu", group + 1), [&](const RingTile& tile, std::size_t) {
      const Use& use = tile.uses.at(group);
      svg.bar(time, use.requested, use.begin, y, kRingHigh, Fill::waiting);
      svg.bar(time, use.begin, use.loaded, y, kRingHigh, Fill::other);
    });
  }
  row("tensor cores", [&](const RingTile& tile, std::size_t k) {
    svg.bar(time, multiply_begin(tile), multiply_end(tile), y, kRingHigh, Fill::one, k_tile(k));
  });
  return y;
}

}  // namespace

Drawing draw_ring(const TracedStage& stage, const Pace& pace) {
  const Ring ring = ring_of(stage, pace);
  const auto again = static_cast<std::size_t>(ring.places);
  const RingTile& next = ring.tiles.at(again);
  const std::string finding =
      text::printed(
          "The ring of stage %d has %d places, and each tile along K takes %.0f cycles to copy "
          "and ",
          stage.row.number, ring.places, pace.copy) +
      text::grouped(std::lround(pace.multiply)) +
      text::printed(
          " to multiply. One thread has the copy engine fill all places at once. For tile %zu it "
          "waits until both warpgroups have given back place %d, after ",
          again, next.place) +
      text::grouped(std::lround(next.granted)) +
      text::printed(
          " cycles; all waits for that tile name phase %u instead of %u. A warpgroup loads the "
          "fragments of a tile while the tile before is multiplied. From the first multiplication "
          "on, the tensor cores work %.0f %% of the time.",
          next.phase, ring.tiles.at(0).phase, 100 * ring.multiplying);
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "copied");
  x = svg.legend(x, 66, Fill::one, "multiplied");
  x = svg.legend(x, 66, Fill::waiting, "waits");
  svg.legend(x, 66, Fill::other, "fragments of B are loaded");
  svg.faint(
      24, 90,
      "The order, the waits and the bytes are as traced. Lengths are the ceiling model's, on an "
      "H200, without latencies.");
  const double last = released(ring.tiles.back());
  const Axis time{kRingLeft, kRingWide, last};
  svg.bold(24, 118, "The ring in shared memory");
  double y = draw_places(svg, 128, time, ring);
  svg.bold(24, y + 28, "Who works when");
  y = draw_workers(svg, y + 38, time, ring);
  return svg.with(finding, svg.ticks(time, y, last > 10'000 ? 2000 : 1000));
}

}  // namespace pictures
