// How src/model/recording.h's recordings are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/recording.h"

namespace trace {

// Given to simt::trace by Machine::recorder.
struct Recorder {
  std::vector<std::int64_t> blocks;     // to record, linear; of those that the launch traces
  std::size_t most_events = 1'000'000;  // of one launch: some 300 bytes each
  std::vector<model::Recording> launches =
      {};  // one a launch; what there is where a KernelFault ends it

  bool records(std::int64_t block) const;
};

// What WarpTracer (src/trace/warp_log.h) calls as it goes. `site` is in recording.sites.
void add_event(const Recorder& recorder, model::Recording& recording, model::RecordedEvent event);

// The latest event of `recording` in which that thread of the block touches that byte from that
// site; RecordedHazard::kNone where there is none.
std::size_t find_event(
    const model::Recording& recording, std::int64_t block, std::int64_t thread,
    const std::vector<std::uint32_t>& places, std::uint64_t byte);

}  // namespace trace
