#include "show/step/scene.h"

#include <bit>

#include "model/warp_access.h"
#include "show/report/request_sentence.h"
#include "text/numbers.h"

namespace step {

int threads_of(const model::Recording& recording) {
  return static_cast<int>(recording.block.x * recording.block.y * recording.block.z);
}

int warps_of(const model::Recording& recording) {
  return recording.warp.warps_of(threads_of(recording));
}

const model::RecordedSite* site_of(const StepScene& scene, const model::RecordedEvent& event) {
  return event.site >= 0 ? &scene.recording.sites[event.site] : nullptr;
}

const model::RecordedArray* array_of(const StepScene& scene, const model::RecordedEvent& event) {
  return event.kind == model::RecordedEvent::Kind::request
             ? &scene.recording.arrays[site_of(scene, event)->array]
             : nullptr;
}

BlockSteps steps_of_block(const model::Recording& recording, std::size_t at) {
  const std::vector<model::RecordedEvent>& events = recording.events;
  const std::int64_t block = events[at].block;
  BlockSteps steps{at, at + 1};
  while (steps.begin > 0 && events[steps.begin - 1].block == block) --steps.begin;
  while (steps.end < events.size() && events[steps.end].block == block) ++steps.end;
  return steps;
}

std::size_t shown_at(const model::RecordedHazard& hazard) {
  if (hazard.second != model::RecordedHazard::kNone) return hazard.second;
  return hazard.first != model::RecordedHazard::kNone ? hazard.first : hazard.found_at;
}

namespace {

bool is_copy(const StepScene& scene, std::size_t shared_side) {
  const std::vector<model::RecordedEvent>& events = scene.recording.events;
  const auto is_side = [&](std::size_t at, bool shared) {
    return at < events.size() && events[at].kind == model::RecordedEvent::Kind::request &&
           site_of(scene, events[at])->direction == model::Direction::copy &&
           array_of(scene, events[at])->shared == shared;
  };
  return is_side(shared_side, true) && is_side(shared_side + 1, false);
}

}  // namespace

model::Wavefronts wavefronts_at(const StepScene& scene, std::size_t at) {
  const model::RecordedEvent& event = scene.recording.events[at];
  if (is_copy(scene, at)) {
    const model::RecordedEvent& global_side = scene.recording.events[at + 1];
    return model::split_async_copy(event.access, global_side.access).wavefronts;
  }
  return site_of(scene, event)->direction == model::Direction::load
             ? model::wavefronts_of_load(event.access)
             : model::wavefronts_of_store(event.access);
}

std::string step_text(const StepScene& scene, std::size_t at) {
  using Kind = model::RecordedEvent::Kind;
  const model::RecordedEvent& event = scene.recording.events[at];
  const auto s = [](int count) { return count == 1 ? "" : "s"; };
  const int lanes = std::popcount(event.access.active);
  const std::string warp = text::printed("warp %d, %d lane%s: ", event.warp, lanes, s(lanes));
  const int warps = warps_of(scene.recording);
  switch (event.kind) {
    case Kind::block_begin:
      return text::printed(
          "the block begins: %d threads in %d warp%s; shared memory is empty",
          threads_of(scene.recording), warps, s(warps));
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
      return warp +
             text::printed("wait for their copies, except the last %d group%s", groups, s(groups));
    }
    case Kind::request:
      break;
  }
  const model::RecordedSite& site = *site_of(scene, event);
  const model::RecordedArray& array = *array_of(scene, event);
  const bool loads = site.direction == model::Direction::load;
  const bool copies = site.direction == model::Direction::copy;
  const char* waste = array.shared ? " <- bank conflict" : " <- uncoalesced";
  return text::printed(
             "warp %d, %d lane%s %s%s %d B %s %s: %d %s%s, ideal %d", event.warp, lanes, s(lanes),
             site.atomic ? "atomically " : "",
             copies  ? "copy"
             : loads ? "load"
                     : "store",
             event.access.bytes, loads || (copies && !array.shared) ? "from" : "to",
             array.name.c_str(), event.pieces, array.shared ? "wavefront" : "sector",
             s(event.pieces), event.ideal) +
         (event.bank_conflicts + event.uncoalesced > 0 ? waste : "");
}

std::string sentence_at(const StepScene& scene, std::size_t at) {
  const model::RecordedEvent& event = scene.recording.events[at];
  const model::RecordedSite& site = *site_of(scene, event);
  report::WarpRequest request{
      event.access, array_of(scene, event)->shared, site.direction, scene.row_words[site.array]};
  if (is_copy(scene, at)) request.other = &scene.recording.events[at + 1].access;
  if (at > 0 && is_copy(scene, at - 1)) request.other = &scene.recording.events[at - 1].access;
  return report::request_sentence(request);
}

}  // namespace step
