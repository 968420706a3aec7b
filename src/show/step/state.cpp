#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"
#include "show/pictures/block_requests.h"
#include "show/step/scene.h"

namespace step {

namespace {

using State = WordChange::State;

struct ChangedWord {
  int array;
  State state;
  int matrix;
  std::uint64_t word;
  std::int64_t held;
  auto operator<=>(const ChangedWord&) const = default;
};

// Adds the words of the step `at`, in ascending order.
void append(
    std::vector<WordChange>& changes, std::size_t at, const std::vector<ChangedWord>& words) {
  const ChangedWord* before = nullptr;
  for (const ChangedWord& now : words) {
    const auto& [array, state, matrix, word, held] = now;
    const auto what = [](const ChangedWord& of) { return std::tie(of.array, of.state, of.matrix); };
    if (before == nullptr || what(*before) != what(now))
      changes.push_back({at, array, state, matrix, {}});
    before = &now;
    std::vector<WordChange::Run>& runs = changes.back().runs;
    if (!runs.empty() && runs.back().first + runs.back().words == word) {
      auto& [first, count, held_first, apart] = runs.back();
      if (count == 1) apart = held - held_first;
      if (held == held_first + static_cast<std::int64_t>(count) * apart) {
        ++count;
        continue;
      }
      if (count == 1) apart = 0;
    }
    runs.push_back({word, 1, held, 0});
  }
}

}  // namespace

std::vector<WordChange> word_changes(const StepScene& scene, BlockSteps steps) {
  using enum Ring::Change::Kind;
  struct Copied {
    int array;
    std::uint64_t first, bytes;
  };
  using Copies = std::pair<int, std::uint64_t>;  // what comes together: a place, a number
  const model::Recording& recording = scene.recording;
  std::vector<WordChange> changes;
  pictures::Contents contents(recording);
  std::map<Copies, std::vector<Copied>> coming;
  std::map<int, Copies> of_warp;  // what it copies
  std::vector<ChangedWord> now;
  const auto set = [&](int array, std::uint64_t first, std::uint64_t bytes, State state,
                       bool is_new) {
    const std::uint64_t end = std::min<std::uint64_t>(first + bytes, recording.arrays[array].bytes);
    for (std::uint64_t word = first / model::kWordBytes; word * model::kWordBytes < end; ++word) {
      pictures::ArrayWord holds{WordChange::kAsBefore};
      if (is_new && recording.arrays[array].shared) holds = contents.at(array, word);
      now.push_back({array, state, holds.array, word, static_cast<std::int64_t>(holds.word)});
    }
  };
  auto change = std::ranges::lower_bound(scene.ring.changes, steps.begin, {}, &Ring::Change::at);
  for (std::size_t at = steps.begin; at < steps.end; ++at) {
    const model::RecordedEvent& event = recording.events[at];
    for (; change != scene.ring.changes.end() && change->at == at; ++change) {
      const Copies copies{change->place, change->number};
      if (change->kind == comes) of_warp[event.warp] = copies;
      if (change->kind != here) continue;
      for (const auto& [array, first, bytes] : coming[copies])
        set(array, first, bytes, WordChange::filled, false);
      coming.erase(copies);
    }
    contents.follow(at);
    const auto copy = [&](int array, std::uint64_t first, std::uint64_t bytes) {
      set(array, first, bytes, WordChange::coming, true);
      coming[of_warp[event.warp]].push_back({array, first, bytes});
    };
    for (const model::RecordedAction& action : recording.actions_at(at)) {
      if (action.kind != model::RecordedAction::Kind::box) continue;
      copy(action.array, action.to, action.bytes);
      for (int row = 0; action.matrix >= 0 && row < action.rows; ++row)
        set(action.matrix, action.first + row * action.pitch_bytes, action.row_bytes,
            WordChange::filled, false);
    }
    if (event.kind == model::RecordedEvent::Kind::request) {
      const auto [array, direction, atomic, line, path] = recording.site_of(event);
      const bool shared = recording.arrays[array].shared;
      model::for_each_lane(event.access.active, [&](int lane) {
        const std::uint64_t first = event.access.address[lane];
        if (shared && direction == model::Direction::copy)
          copy(array, first, event.access.bytes);
        else if (!shared || direction == model::Direction::store)
          set(array, first, event.access.bytes, WordChange::filled, true);
      });
    }
    std::ranges::sort(now);
    const auto [doubles, end] = std::ranges::unique(now);
    now.erase(doubles, end);
    append(changes, at, now);
    now.clear();
  }
  return changes;
}

}  // namespace step
