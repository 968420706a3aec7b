// How the recordings of src/model/recording.h are filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/trace/block_counts.h"
#include "simulator/trace/source_lines.h"

namespace trace {

// Writes what a tracer sees of the chosen blocks into a recording (src/model/recording.h).

class EventRecord {
 public:
  // Records into the recorder's last launch. Null: nothing is recorded. `arrays` must outlive this.
  EventRecord(model::Recorder* recorder, const std::vector<machine::KernelArray>& arrays);

  void begin_block(std::int64_t block);
  bool is_on() const { return recording_ != nullptr; }  // for this block

  // The following functions do something only while recording is on.
  void request(
      Site& site, const Sites& sites, const model::WarpAccess& access, const RequestCost& cost,
      int warp);
  // `warp` is -1 for an event of the whole block.
  void event(
      model::RecordedEvent::Kind kind, std::vector<std::uint32_t> places,
      const model::WarpAccess& lanes, int warp);
  void begin_or_end(model::RecordedEvent::Kind kind);
  // A thread's request to an mbarrier, the copy engine or the tensor cores. Returns whether it is
  // one of the next event, of Kind::action.
  bool action(int thread, const machine::AsyncAction& action);
  // A hazard that was found at the most recent event.
  void hazards(std::span<const model::Hazard> found);
  // The system stopped an access. Nothing else is known about it.
  void crash(const model::Hazard& hazard);

 private:
  const model::Recorder* const recorder_;
  const std::vector<machine::KernelArray>& arrays_;
  model::Recording* const launch_;
  model::Recording* recording_ = nullptr;  // null while the running block is not recorded
  std::int64_t block_ = 0;
};

// EventRecord calls these as the launch runs. `site` is in recording.sites.
void add_event(
    const model::Recorder& recorder, model::Recording& recording, model::RecordedEvent event);

// The latest event of `recording` in which that thread of the block touches that byte from that
// site; RecordedHazard::kNone if there is none.
std::size_t find_event(
    const model::Recording& recording, std::int64_t block, std::int64_t thread,
    const std::vector<std::uint32_t>& places, std::uint64_t byte);

}  // namespace trace
