#include "show/step/scene.h"

#include "model/warp_access.h"
#include "show/report/request_sentence.h"

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

std::string sentence_at(const StepScene& scene, std::size_t at) {
  const model::RecordedEvent& event = scene.recording.events[at];
  const model::RecordedSite& site = *site_of(scene, event);
  report::SpokenRequest request{
      event.access, array_of(scene, event)->shared, site.direction, scene.row_words[site.array]};
  if (is_copy(scene, at)) request.other = &scene.recording.events[at + 1].access;
  if (at > 0 && is_copy(scene, at - 1)) request.other = &scene.recording.events[at - 1].access;
  return report::request_sentence(request);
}

}  // namespace step
