#include "step/access.h"

#include "model/warp_access.h"

namespace step {

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

}  // namespace step
