#include "step/scene.h"

#include <cstdint>

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

}  // namespace step
