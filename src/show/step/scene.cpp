#include "show/step/scene.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "model/warp_access.h"
#include "show/report/explain/explain.h"
#include "text/numbers.h"

namespace step {

BlockSteps steps_of_block(const model::Recording& recording, std::size_t at) {
  const std::vector<model::RecordedEvent>& events = recording.events;
  const std::int64_t block = events[at].block;
  BlockSteps steps{at, at + 1};
  while (steps.begin > 0 && events[steps.begin - 1].block == block) --steps.begin;
  while (steps.end < events.size() && events[steps.end].block == block) ++steps.end;
  return steps;
}

std::set<int> used_arrays(const model::Recording& recording) {
  std::set<int> used;
  for (const model::RecordedSite& site : recording.sites) used.insert(site.array);
  for (const model::RecordedAction& action : recording.actions) {
    if (action.kind != model::RecordedAction::Kind::init)
      used.insert({action.array, action.matrix});
  }
  return used;
}

std::size_t shown_at(const model::RecordedHazard& hazard) {
  if (hazard.second != model::RecordedHazard::kNone) return hazard.second;
  return hazard.first != model::RecordedHazard::kNone ? hazard.first : hazard.found_at;
}

HazardMark mark_of(const model::Recording& recording, const model::RecordedHazard& hazard) {
  const auto array =
      std::ranges::find(recording.arrays, hazard.hazard.array, &model::RecordedArray::name);
  const auto begin = recording.events.begin() +
                     static_cast<std::ptrdiff_t>(std::min(shown_at(hazard), hazard.found_at));
  const auto end = std::find_if(begin, recording.events.end(), [&](const auto& event) {
    return event.block != begin->block || event.epoch != begin->epoch;
  });
  return {
      static_cast<int>(array - recording.arrays.begin()), hazard.hazard.byte / model::kWordBytes,
      static_cast<std::size_t>(begin - recording.events.begin()),
      static_cast<std::size_t>(end - recording.events.begin())};
}

using ActionKind = model::RecordedAction::Kind;
using pictures::counted;

std::string name_of_barrier(const model::Recording& recording, const model::RecordedAction& of) {
  if (of.named >= 0) return text::printed("barrier %d", of.named);
  const auto init = std::ranges::find_if(recording.actions, [&](const auto& action) {
    return action.kind == ActionKind::init && action.block == of.block &&
           action.barrier == of.barrier;
  });
  if (init == recording.actions.end() || init->array < 0) return "an mbarrier";
  const model::RecordedArray& array = recording.arrays[init->array];
  const int number = static_cast<int>(init->to / sizeof(std::uint64_t));
  return array.bytes == sizeof(std::uint64_t) ? array.name
                                              : text::printed("%s[%d]", array.name.c_str(), number);
}

namespace {

std::string bytes_text(std::uint64_t bytes) {
  return text::grouped(static_cast<std::int64_t>(bytes)) + " B";
}

std::string text_of_action(const StepScene& scene, const model::RecordedAction& action) {
  const model::Recording& recording = scene.recording;
  const auto array = [&](int number) { return name_of(scene, number, nullptr); };
  const std::string barrier = name_of_barrier(recording, action);
  const auto value = static_cast<long long>(action.value);
  switch (action.kind) {
    case ActionKind::init:
      return "initialize the mbarrier " + barrier;
    case ActionKind::arrive:
      return text::printed("arrive in phase %lld of ", value) + barrier;
    case ActionKind::wait:
      return text::printed("wait for phase %lld of ", value) + barrier + ", which is complete";
    case ActionKind::box:
      return "start a box of " + (action.matrix < 0 ? "zeros" : array(action.matrix)) +
             text::printed(" to byte %lld of ", static_cast<long long>(action.to)) +
             array(action.array) + ", for " + barrier;
    case ActionKind::multiply:
      return text::printed("start a wgmma on %d columns of ", action.rows) +
             name_of(scene, action.array, part_at(scene.ring, action.array, action.to));
    case ActionKind::multiplied:
      return "wait for wgmma";
    case ActionKind::mma:
      return text::printed("%lld mma of %d x 8 x %d", value, action.rows, action.depth) + ", " +
             counted(action.value * action.rows * 8 * action.depth, "product");
  }
  return "";
}

std::string sentence_of_action(const StepScene& scene, std::size_t at) {
  const model::RecordedAction& now = scene.recording.actions_at(at).back();
  const auto& [so_far, in_all, multiplied] = scene.contexts[&now - scene.recording.actions.data()];
  const std::string of_boxes =
      bytes_text(in_all.bytes) +
      text::printed(" of %d box%s", in_all.boxes, in_all.boxes == 1 ? "" : "es");
  switch (now.kind) {
    case ActionKind::init:
      return "It counts arrivals, and the bytes of boxes, one phase after the other.";
    case ActionKind::arrive:
      if (!in_all.is_complete)
        return text::printed("It is arrival %d of this phase.", so_far.arrivals);
      return text::printed("%d of ", so_far.arrivals) + counted(in_all.arrivals, "arrival") +
             " of this phase " + (so_far.arrivals == 1 ? "has" : "have") + " come" +
             (in_all.boxes > 0 ? "; it also counts " + of_boxes : "") + ".";
    case ActionKind::wait:
      return "All that this phase counts has come: " + counted(in_all.arrivals, "arrival") +
             (in_all.boxes > 0 ? " and " + of_boxes : "") + ".";
    case ActionKind::box:
      return text::printed(
          "The copy engine moves these %s while the threads go on. %s of the %s that the barrier's "
          "phase counts are on their way now.",
          bytes_text(now.bytes).c_str(), bytes_text(so_far.bytes).c_str(),
          bytes_text(in_all.bytes).c_str());
    case ActionKind::multiply:
      return "The tensor cores read the operand while the warp goes on. The operand and the sums "
             "may not be touched before a wait.";
    case ActionKind::multiplied: {
      const int left = multiplied - static_cast<int>(now.value);
      return text::printed(
          "At most %d of the warp's wgmma %s in flight now.", left, left == 1 ? "is" : "are");
    }
    case ActionKind::mma:
      return "The lanes hold the tiles of an mma together, in registers. It makes " +
             counted(now.rows * 8 * now.depth, "product") + "; an FFMA makes one per lane.";
  }
  return "";
}

}  // namespace

// Each warp of a wgmma holds its 16 rows of A and, for every eight columns, of the sums as the warp
// of an mma does. (PTX ISA 9.0, "Register fragments" of wgmma.)
std::vector<Fragment> fragments_of(const model::RecordedAction& action) {
  const bool is_mma = action.kind == ActionKind::mma;
  if (!is_mma && action.kind != ActionKind::multiply) return {};
  const auto [a, b, d] =
      model::fragments_of_mma(is_mma ? action.rows : 16, action.depth, std::max(action.bits, 1));
  std::vector<Fragment> fragments;
  // The rows of B's layout are columns.
  const auto add = [&](const char* name, const model::FragmentLayout& layout, bool turned) {
    const int rows = turned ? layout.minors : layout.majors;
    const int columns = turned ? layout.majors : layout.minors;
    std::vector<int>& lanes =
        fragments.emplace_back(Fragment{name, rows, columns, std::vector<int>(rows * columns)})
            .lanes;
    for (int i = 0; i < 32 * layout.elements(); ++i) {
      const auto [major, minor] = layout.position(i % 32, i / 32);
      lanes[turned ? minor * columns + major : major * columns + minor] = i % 32;
    }
  };
  if (action.bits > 0) add("A", a, false);
  if (is_mma) add("B", b, true);
  add("sums", d, false);
  return fragments;
}

std::vector<ActionContext> contexts_of(const model::Recording& recording) {
  using Phase = std::tuple<std::int64_t, std::uint32_t, std::uint64_t>;  // of a block's mbarrier
  std::map<Phase, ActionContext::Sums> phases;
  std::map<std::pair<std::int64_t, int>, int> multiplied;  // by block and warp
  std::vector<ActionContext> contexts;
  const auto phase_of = [&](const model::RecordedAction& of) -> ActionContext::Sums& {
    return phases[{of.block, of.barrier, of.value}];
  };
  for (const model::RecordedAction& action : recording.actions) {
    ActionContext::Sums& phase = phase_of(action);
    phase.is_complete |= action.kind == ActionKind::wait;
    phase.arrivals += action.kind == ActionKind::arrive;
    phase.boxes += action.kind == ActionKind::box;
    phase.bytes += action.bytes;
    int& of_warp = multiplied[{action.block, recording.warp.warp_of(action.thread)}];
    of_warp += action.kind == ActionKind::multiply;
    contexts.push_back({phase, {}, of_warp});
  }
  for (std::size_t i = 0; i < contexts.size(); ++i)
    contexts[i].in_all = phase_of(recording.actions[i]);
  return contexts;
}

namespace {

void add_part(Ring& ring, const Ring::Part& part) {
  const auto known = std::ranges::find_if(ring.parts, [&](const Ring::Part& other) {
    return other.place == part.place && other.array == part.array && other.matrix == part.matrix;
  });
  if (known == ring.parts.end()) return ring.parts.push_back(part);
  known->begin = std::min(known->begin, part.begin);
  known->end = std::max(known->end, part.end);
}

// A place is known by the mbarrier that counts its bytes. Before it is filled again, a thread waits
// for another one, by which it was given back; both kinds are numbered in the same order.
void follow_boxes(const StepScene& scene, Ring& ring) {
  const model::Recording& recording = scene.recording;
  std::map<std::uint32_t, int> places;
  for (const model::RecordedAction& action : recording.actions) {
    if (action.kind == ActionKind::box) places[action.barrier] = 0;
  }
  for (int next = 0; auto& [barrier, place] : places) place = next++;
  ring.boxes = static_cast<int>(places.size());
  ring.places.resize(places.size());
  std::map<int, std::uint32_t> awaited;  // by thread
  std::uint32_t distance = 0;            // of the two kinds, if it is known
  for (const model::RecordedAction& action : recording.actions) {
    const bool waits = action.kind == ActionKind::wait && !places.contains(action.barrier);
    if (waits) awaited[action.thread] = action.barrier;
    const bool fills = action.kind == ActionKind::box && awaited.contains(action.thread);
    if (fills && distance == 0) distance = awaited[action.thread] - action.barrier;
  }
  for (std::size_t i = 0; i < recording.actions.size(); ++i) {
    const model::RecordedAction& action = recording.actions[i];
    const bool arrives = action.kind == ActionKind::arrive, is_box = action.kind == ActionKind::box;
    if (!arrives && !is_box && action.kind != ActionKind::wait) continue;
    const auto found = places.find(action.barrier - (arrives ? distance : 0));
    if (found == places.end() || (arrives && distance == 0)) continue;
    const int place = found->second;
    const auto& [so_far, in_all, multiplied] = scene.contexts[i];
    const int warp = recording.warp.warp_of(action.thread);
    Ring::Change now{Ring::Change::here, action.events, warp, place, action.value, so_far.bytes};
    if (is_box) {
      now.kind = Ring::Change::comes;
      ring.places[place] = name_of_barrier(recording, action);
      if (action.matrix >= 0)
        add_part(ring, {place, action.array, action.matrix, action.to, action.to + action.bytes});
    } else if (arrives) {
      if (so_far.arrivals < in_all.arrivals) continue;
      now.kind = Ring::Change::empty;
    }
    // Lanes that wait together are one change.
    const bool is_first = ring.changes.empty() || ring.changes.back().at != now.at;
    if (is_first || is_box) ring.changes.push_back(now);
  }
}

// A group has the copies that the warps make between as many commits.
void follow_copies(const model::Recording& recording, Ring& ring) {
  struct Group {
    int place = 0;
    std::uint64_t bytes = 0;
    std::set<int> warps = {};  // that have not waited
  };
  std::map<std::pair<std::int64_t, int>, std::uint64_t> commits;   // by block and warp
  std::map<std::pair<std::int64_t, std::uint64_t>, Group> groups;  // by block and number
  std::map<std::pair<int, std::uint64_t>, int> places;  // by the first array and byte of a group
  for (std::size_t at = 0; at < recording.events.size(); ++at) {
    const model::RecordedEvent& event = recording.events[at];
    std::uint64_t& number = commits[{event.block, event.warp}];
    const auto change = [&](Ring::Change::Kind kind, const Group& group, std::uint64_t of) {
      ring.changes.push_back({kind, at, event.warp, group.place, of, group.bytes});
    };
    if (event.kind == model::RecordedEvent::Kind::commit) ++number;
    if (event.kind == model::RecordedEvent::Kind::wait) {
      for (auto& [of, group] : groups) {
        if (of.first != event.block || of.second + event.access.first() >= number) continue;
        if (group.warps.erase(event.warp) == 0) continue;
        change(group.warps.empty() ? Ring::Change::here : Ring::Change::waits, group, of.second);
      }
    }
    if (event.kind != model::RecordedEvent::Kind::request) continue;
    const auto& [array, direction, atomic, line, path] = recording.site_of(event);
    if (direction != model::Direction::copy || !recording.arrays[array].shared) continue;
    const auto [of, is_new] = groups.try_emplace({event.block, number});
    Group& group = of->second;
    if (is_new) {
      const int next = ring.boxes + static_cast<int>(places.size());
      group.place = places.try_emplace({array, event.access.first()}, next).first->second;
    }
    const model::RecordedEvent* const source = pictures::other_side(recording, at);
    model::for_each_lane(event.access.active, [&](int lane) {
      const std::uint64_t byte = event.access.address[lane], end = byte + event.access.bytes;
      if (source != nullptr)
        add_part(ring, {group.place, array, recording.site_of(*source).array, byte, end});
      group.bytes += event.access.bytes;
    });
    if (group.warps.insert(event.warp).second) change(Ring::Change::comes, group, number);
  }
  for (Ring::Change& change : ring.changes) {
    if (change.place >= ring.boxes)
      change.bytes = groups[{recording.events[change.at].block, change.number}].bytes;
  }
  for (std::size_t i = 0; places.size() > 1 && i < places.size(); ++i)
    ring.places.push_back(text::printed("place %zu", i));
}

}  // namespace

Ring ring_of(const StepScene& scene) {
  Ring ring;
  follow_boxes(scene, ring);
  follow_copies(scene.recording, ring);
  std::ranges::stable_sort(ring.changes, {}, &Ring::Change::at);
  std::map<std::pair<std::int64_t, int>, const Ring::Change*> latest;  // by block and place
  for (Ring::Change& change : ring.changes) {
    const Ring::Change*& before = latest[{scene.recording.events[change.at].block, change.place}];
    if (before != nullptr && before->number == change.number) {
      change.is_here = before->is_here;
      change.waited = before->waited;
    }
    change.is_here |= change.kind == Ring::Change::here;
    if (change.kind == Ring::Change::here || change.kind == Ring::Change::waits)
      change.waited.insert(change.warp);
    before = &change;
  }
  std::ranges::sort(
      ring.parts, {}, [](const Ring::Part& part) { return std::pair(part.array, part.begin); });
  const auto overlap = [](const Ring::Part& a, const Ring::Part& b) {
    return a.array == b.array && a.end > b.begin;
  };
  const bool are_apart = std::ranges::adjacent_find(ring.parts, overlap) == ring.parts.end();
  if (!are_apart || ring.places.empty()) ring.parts.clear();
  return ring;
}

const Ring::Part* part_at(const Ring& ring, int array, std::uint64_t byte) {
  const auto part = std::ranges::find_if(ring.parts, [&](const Ring::Part& one) {
    return one.array == array && one.begin <= byte && byte < one.end;
  });
  return part == ring.parts.end() ? nullptr : &*part;
}

std::string name_of(const StepScene& scene, int array, const Ring::Part* part) {
  if (array < 0) return "memory";
  const std::string& name = scene.recording.arrays[array].name;
  if (part == nullptr) return name;
  return (name == "dynamic" ? scene.recording.arrays[part->matrix].name : name) +
         text::printed(", place %d", part->place);
}

std::vector<WarpChange> warp_changes(const StepScene& scene, BlockSteps steps) {
  const model::Recording& recording = scene.recording;
  const std::vector<model::RecordedEvent>& events = recording.events;
  std::vector<std::vector<std::size_t>> own(recording.warps());  // the steps of each warp
  for (std::size_t at = steps.begin; at < steps.end; ++at) {
    if (events[at].warp >= 0) own[events[at].warp].push_back(at);
  }
  const bool is_whole = events[steps.end - 1].kind == model::RecordedEvent::Kind::block_end;
  std::vector<WarpChange> changes;
  const auto pauses = [&](int warp, std::size_t at) {
    const auto next = std::ranges::upper_bound(own[warp], at);
    std::string doing = next != own[warp].end() ? "ready" : is_whole ? "ended" : "not seen again";
    if (next != own[warp].end()) {
      const auto actions = recording.actions_at(*next);
      if (events[*next].epoch > events[at].epoch)
        doing = "waiting for the barrier";
      else if (!actions.empty() && actions.front().kind == ActionKind::wait)
        doing = "waiting for " + name_of_barrier(recording, actions.front());
    }
    changes.push_back({at, warp, doing});
  };
  for (std::size_t at = steps.begin; at < steps.end; ++at) {
    const int warp = events[at].warp, before = at == steps.begin ? -1 : events[at - 1].warp;
    for (int all = 0; warp < 0 && all < recording.warps(); ++all) pauses(all, at);
    if (warp < 0 || warp == before) continue;
    if (before >= 0) pauses(before, at);
    changes.push_back({at, warp, "running"});
  }
  return changes;
}

std::string step_text(const StepScene& scene, std::size_t at, bool names_parts) {
  using Kind = model::RecordedEvent::Kind;
  const model::RecordedEvent& event = scene.recording.events[at];
  const std::string warp = text::printed("warp %d, ", event.warp) +
                           counted(std::popcount(event.access.active), "lane") + ": ";
  switch (event.kind) {
    case Kind::block_begin:
      return text::printed("the block begins: %d threads in ", scene.recording.threads()) +
             counted(scene.recording.warps(), "warp") + "; shared memory is empty";
    case Kind::block_end:
      return "the block ends: all its threads have left the kernel";
    case Kind::barrier:
      return "barrier: every thread of the block has reached __syncthreads()";
    case Kind::warp_barrier:
      return warp + "__syncwarp(): they wait for each other";
    case Kind::commit:
      return warp + "commit: the copies so far become a group";
    case Kind::wait: {
      const auto groups = static_cast<int>(event.access.first());
      if (groups == 0) return warp + "wait for all their copies";
      return warp + "wait for their copies, except the last " + counted(groups, "group");
    }
    case Kind::action:
      return warp + text_of_action(scene, scene.recording.actions_at(at).front());
    case Kind::request:
      break;
  }
  const int array = scene.recording.site_of(event).array;
  const Ring::Part* const part =
      names_parts ? part_at(scene.ring, array, event.access.first()) : nullptr;
  return text::printed("warp %d, ", event.warp) +
         pictures::request_text(scene.recording, at, name_of(scene, array, part));
}

std::string sentence_at(const StepScene& scene, std::size_t at) {
  using Kind = model::RecordedEvent::Kind;
  const model::RecordedEvent& event = scene.recording.events[at];
  if (event.kind == Kind::action) return sentence_of_action(scene, at);
  if (event.kind != Kind::request) return "";
  pictures::WarpRequest request = pictures::request_at(scene.recording, at);
  request.row_words = scene.row_words[scene.recording.site_of(event).array];
  return report::request_sentence(request);
}

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
