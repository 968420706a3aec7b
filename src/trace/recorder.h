// How src/model/recording.h's recordings grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/recorder.h"
#include "model/recording.h"

namespace trace {

using model::Recorder;  // given to trace() by Machine::recorder

// What EventRecord calls as it goes. `site` is in recording.sites.
void add_event(const Recorder& recorder, model::Recording& recording, model::RecordedEvent event);

// The latest event of `recording` in which that thread of the block touches that byte from that
// site; RecordedHazard::kNone where there is none.
std::size_t find_event(
    const model::Recording& recording, std::int64_t block, std::int64_t thread,
    const std::vector<std::uint32_t>& places, std::uint64_t byte);

}  // namespace trace
