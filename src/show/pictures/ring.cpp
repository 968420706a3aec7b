// A ring of boxes: which tile is in which place when, and its picture.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "model/tensor_core.h"
#include "show/pictures/block_times.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

using Kind = model::RecordedAction::Kind;
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
  return action.kind == Kind::box;
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
    if (action.kind == Kind::multiply) that_multiply.insert(thread);
    if (action.kind == Kind::arrive) that_arrive.insert(thread);
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
      if (recorded.kind == Kind::arrive) {
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
      } else if (recorded.kind == Kind::multiply) {
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
  if (recorded.kind != Kind::wait) return true;
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
    case Kind::wait:
      wait(play, player, recorded);
      break;
    case Kind::arrive: {
      contribute(play, {recorded.barrier, recorded.value}, player.now);
      const bool releases = player.released < player.tiles.size();
      if (releases) use_of(play, player, player.tiles[player.released++]).released = player.now;
      break;
    }
    case Kind::box: {
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
    case Kind::multiply:
      multiply(play, player, recorded);
      break;
    case Kind::multiplied:
      if (recorded.value > 0) {
        player.now = std::max(player.now, player.multiplied.at(recorded.value - 1));
      }
      break;
    case Kind::init:
      break;
  }
  ++player.next;
}

}  // namespace

bool has_ring(const TracedStage& stage) {
  std::set<int> that_copy, that_multiply;
  for (const model::RecordedAction& action : stage.block.actions) {
    if (copies(action)) that_copy.insert(action.thread);
    if (action.kind == Kind::multiply) that_multiply.insert(action.thread);
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
  double begin = tile.uses.at(0).multiply_begin;
  for (const Use& use : tile.uses) begin = std::min(begin, use.multiply_begin);
  return begin;
}

double multiply_end(const RingTile& tile) {
  double end = 0;
  for (const Use& use : tile.uses) end = std::max(end, use.multiply_end);
  return end;
}

double released(const RingTile& tile) {
  double at = 0;
  for (const Use& use : tile.uses) at = std::max(at, use.released);
  return at;
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
          stage.stage->number, ring.places, pace.copy) +
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
  return svg.with(finding, svg.ticks(time, y, last > 10'000 ? 2000 : 1000, "cycles"));
}

}  // namespace pictures
