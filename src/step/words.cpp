#include "step/words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "step/access.h"

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;

void mark(std::string& signs, std::uint64_t word, char sign) {
  if (word < signs.size()) signs[word] = sign;
}

// The async copies that a thread has begun and not waited for.
struct Copies {
  struct Copy {
    std::uint64_t first, last, group;  // all words
  };
  std::vector<Copy> coming;
  std::uint64_t group = 0;  // the open one
};

// What the block's steps up to `at` have written to the array.
void mark_arrivals(std::string& signs, const StepScene& scene, std::size_t at, int array) {
  const model::Recording& recording = scene.recording;
  const bool shared = recording.arrays[array].shared;
  std::vector<Copies> of_thread(threads_of(recording) + recording.warp.lanes);
  for (std::size_t i = steps_of_block(recording, at).begin; i <= at; ++i) {
    const model::RecordedEvent& event = recording.events[i];
    const model::WarpAccess& access = event.access;
    const auto copies_of = [&](int lane) -> Copies& {
      return of_thread[recording.warp.thread_of(event.warp, lane)];
    };
    if (event.kind == Kind::commit) {
      model::for_each_lane(access.active, [&](int lane) { ++copies_of(lane).group; });
    } else if (event.kind == Kind::wait) {
      model::for_each_lane(access.active, [&](int lane) {
        Copies& copies = copies_of(lane);
        std::erase_if(copies.coming, [&](const Copies::Copy& copy) {
          const bool arrived = copy.group + access.address[lane] < copies.group;
          for (std::uint64_t w = copy.first; arrived && w <= copy.last; ++w) mark(signs, w, 'o');
          return arrived;
        });
      });
    } else if (event.kind == Kind::request && site_of(scene, event)->array == array) {
      const model::Direction direction = site_of(scene, event)->direction;
      if (shared && direction == model::Direction::copy) {
        model::for_each_lane(access.active, [&](int lane) {
          const std::uint64_t first = access.address[lane] / model::kWordBytes;
          const std::uint64_t last = (access.address[lane] + access.bytes - 1) / model::kWordBytes;
          copies_of(lane).coming.push_back({first, last, copies_of(lane).group});
          for (std::uint64_t word = first; word <= last; ++word) mark(signs, word, '~');
        });
      } else if (!shared || direction == model::Direction::store) {
        for_each_word(access, access.active, [&](std::uint64_t word) { mark(signs, word, 'o'); });
      }
    }
  }
}

// If the wavefronts of one group use different words of a bank, all of these are in conflict.
void mark_conflicts(std::string& signs, const StepScene& scene, std::size_t at) {
  std::map<std::pair<int, std::uint64_t>, std::set<std::uint64_t>> words;  // by group and bank
  for (const model::Wavefront& turn : wavefronts_at(scene, at)) {
    for_each_word(scene.recording.events[at].access, turn.lanes, [&](std::uint64_t word) {
      words[{turn.group, word % scene.recording.warp.banks}].insert(word);
    });
  }
  for (const auto& [place, wanted] : words) {
    if (wanted.size() < 2) continue;
    for (const std::uint64_t word : wanted) mark(signs, word, '!');
  }
}

// From a hazard's step to the next barrier, and in its other step.
void mark_hazards(std::string& signs, const StepScene& scene, std::size_t at, int array) {
  const model::Recording& recording = scene.recording;
  const model::RecordedEvent& now = recording.events[at];
  for (const model::RecordedHazard& recorded : recording.hazards) {
    const model::Hazard& hazard = recorded.hazard;
    if (hazard.array != recording.arrays[array].name) continue;
    const std::size_t from = std::min(shown_at(recorded), recorded.found_at);
    const model::RecordedEvent& found = recording.events[from];
    const bool is_now = at == recorded.first || at == recorded.second || at == recorded.found_at;
    const bool of_this_epoch = at >= from && found.block == now.block && found.epoch == now.epoch;
    if (is_now || of_this_epoch) mark(signs, hazard.byte / model::kWordBytes, '!');
  }
}

}  // namespace

std::string signs_of_words(const StepScene& scene, std::size_t at, int array) {
  std::string signs((scene.recording.arrays[array].bytes + 3) / model::kWordBytes, '.');
  mark_arrivals(signs, scene, at, array);
  const model::RecordedEvent& now = scene.recording.events[at];
  if (now.kind == Kind::request && site_of(scene, now)->array == array) {
    for_each_word(
        now.access, now.access.active, [&](std::uint64_t word) { mark(signs, word, '#'); });
    if (now.bank_conflicts > 0) mark_conflicts(signs, scene, at);
  }
  mark_hazards(signs, scene, at, array);
  return signs;
}

}  // namespace step
