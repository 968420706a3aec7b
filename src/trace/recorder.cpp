#include "trace/recorder.h"

#include <utility>

namespace trace {

void add_event(const Recorder& recorder, model::Recording& recording, model::RecordedEvent event) {
  std::vector<model::RecordedEvent>& events = recording.events;
  if (events.size() >= recorder.most_events) {
    recording.complete = false;
    return;
  }
  if (event.kind != model::RecordedEvent::Kind::block_begin && !events.empty()) {
    const model::RecordedEvent& last = events.back();
    event.epoch = last.epoch + (last.kind == model::RecordedEvent::Kind::barrier);
  }
  events.push_back(std::move(event));
}

std::size_t find_event(
    const model::Recording& recording, std::int64_t block, std::int64_t thread,
    const std::vector<std::uint32_t>& places, std::uint64_t byte) {
  const int warp = recording.warp.warp_of(static_cast<int>(thread)),
            lane = recording.warp.lane_of(static_cast<int>(thread));
  for (std::size_t i = recording.events.size(); i-- > 0;) {
    const model::RecordedEvent& event = recording.events[i];
    if (event.kind != model::RecordedEvent::Kind::request || event.block != block ||
        event.warp != warp || !(event.access.active >> lane & 1u)) {
      continue;
    }
    const std::uint64_t word = byte / 4 * 4, from = event.access.address[lane];
    const bool touches = from < word + 4 && word < from + event.access.bytes;
    if (touches && recording.sites[event.site].places == places) return i;
  }
  return model::RecordedHazard::kNone;
}

}  // namespace trace
