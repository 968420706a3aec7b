#include "show/step/scene.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
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
    used.insert({action.array, action.matrix});
  }
  return used;
}

std::size_t shown_at(const model::RecordedHazard& hazard) {
  if (hazard.second != model::RecordedHazard::kNone) return hazard.second;
  return hazard.first != model::RecordedHazard::kNone ? hazard.first : hazard.found_at;
}

std::span<const model::RecordedAction> actions_at(
    const model::Recording& recording, std::size_t at) {
  const auto found =
      std::ranges::equal_range(recording.actions, at, {}, &model::RecordedAction::events);
  return {found.begin(), found.end()};
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
  const auto array = [&](int number) {
    return number < 0 ? std::string("memory") : recording.arrays[number].name;
  };
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
    case ActionKind::multiply: {
      const std::ptrdiff_t box = scene.contexts[&action - recording.actions.data()].box;
      return text::printed("start a wgmma on %d columns of ", action.rows) +
             (box < 0 ? array(action.array)
                      : name_of_barrier(recording, recording.actions[box]) + "'s tile");
    }
    case ActionKind::multiplied:
      return "wait for wgmma";
  }
  return "";
}

std::string sentence_of_action(const StepScene& scene, std::size_t at) {
  const model::RecordedAction& now = actions_at(scene.recording, at).back();
  const auto& [so_far, in_all, completes, multiplied, box] =
      scene.contexts[&now - scene.recording.actions.data()];
  const std::string of_boxes =
      bytes_text(in_all.bytes) +
      text::printed(" of %d box%s", in_all.boxes, in_all.boxes == 1 ? "" : "es");
  switch (now.kind) {
    case ActionKind::init:
      return "It counts arrivals, and the bytes of boxes, one phase after the other.";
    case ActionKind::arrive:
      if (!completes) return text::printed("It is arrival %d of this phase.", so_far.arrivals);
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
  }
  return "";
}

}  // namespace

std::vector<ActionContext> contexts_of(const model::Recording& recording) {
  using Barrier = std::pair<std::int64_t, std::uint32_t>;  // of a block
  struct Phases {
    std::map<std::uint64_t, ActionContext::Sums> sums;
    std::uint64_t complete = 0;  // so many
  };
  std::map<Barrier, Phases> barriers;
  std::map<std::pair<std::int64_t, int>, int> multiplied;       // by block and warp
  std::map<std::array<std::int64_t, 3>, std::ptrdiff_t> boxes;  // by block, array and first byte
  std::vector<ActionContext> contexts(recording.actions.size());
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const model::RecordedAction& action = recording.actions[i];
    Phases& of = barriers[{action.block, action.barrier}];
    if (action.kind == ActionKind::arrive) {
      of.complete = std::max(of.complete, action.value);
      ++of.sums[action.value].arrivals;
    } else if (action.kind == ActionKind::wait) {
      of.complete = std::max(of.complete, action.value + 1);
    } else if (action.kind == ActionKind::box) {
      ActionContext::Sums& sums = of.sums[action.value];
      ++sums.boxes;
      sums.bytes += action.bytes;
      boxes[{action.block, action.array, static_cast<std::int64_t>(action.to)}] =
          static_cast<std::ptrdiff_t>(i);
    }
    int& of_warp = multiplied[{action.block, recording.warp.warp_of(action.thread)}];
    if (action.kind == ActionKind::multiply) {
      ++of_warp;
      const auto to = static_cast<std::int64_t>(action.to);
      auto before = boxes.upper_bound({action.block, action.array, to});
      if (before != boxes.begin()) {
        const std::ptrdiff_t box = (--before)->second;
        const model::RecordedAction& brought = recording.actions[box];
        const bool holds = brought.block == action.block && brought.array == action.array &&
                           action.to - brought.to < brought.bytes;
        if (holds) contexts[i].box = box;
      }
    }
    contexts[i].so_far = of.sums[action.value];
    contexts[i].multiplied = of_warp;
  }
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const model::RecordedAction& action = recording.actions[i];
    Phases& of = barriers[{action.block, action.barrier}];
    contexts[i].in_all = of.sums[action.value];
    contexts[i].completes = action.value < of.complete;
  }
  return contexts;
}

std::string step_text(const StepScene& scene, std::size_t at) {
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
      int groups = 0;
      model::for_each_lane(
          event.access.active, [&](int l) { groups = static_cast<int>(event.access.address[l]); });
      if (groups == 0) return warp + "wait for all their copies";
      return warp + "wait for their copies, except the last " + counted(groups, "group");
    }
    case Kind::action:
      return warp + text_of_action(scene, actions_at(scene.recording, at).front());
    case Kind::request:
      break;
  }
  return text::printed("warp %d, ", event.warp) + pictures::request_text(scene.recording, at);
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

}  // namespace step
