// How the recordings of src/model/recording.h are filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/recording.h"

namespace trace {

using model::Recorder;  // passed to trace() by Machine::recorder

// EventRecord calls these as the launch runs. `site` is in recording.sites.
void add_event(const Recorder& recorder, model::Recording& recording, model::RecordedEvent event);

// The latest event of `recording` in which that thread of the block touches that byte from that
// site; RecordedHazard::kNone if there is none.
std::size_t find_event(
    const model::Recording& recording, std::int64_t block, std::int64_t thread,
    const std::vector<std::uint32_t>& places, std::uint64_t byte);

}  // namespace trace
