// Puts down what a tracer sees of the blocks that are to be recorded (src/model/recording.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/kernel_memory.h"
#include "model/recorder.h"
#include "model/recording.h"
#include "model/warp_access.h"
#include "trace/request_costs.h"
#include "trace/sites.h"

namespace trace {

class EventRecord {
 public:
  // Into the recorder's last launch; null: nothing is recorded.
  EventRecord(model::Recorder* recorder, const std::vector<machine::KernelArray>& arrays);

  void begin_block(std::int64_t block);
  bool is_on() const { return recording_ != nullptr; }  // for this block

  // Of here on, only where it is on.
  void request(
      Site& site, const Sites& sites, const model::WarpAccess& access, const RequestCost& cost,
      int warp);
  // `warp` is -1 for what is the whole block's.
  void event(
      model::RecordedEvent::Kind kind, std::vector<std::uint32_t> places,
      const model::WarpAccess& lanes, int warp);
  void begin_or_end(model::RecordedEvent::Kind kind);
  // Found by what was recorded last.
  void hazards(std::span<const model::Hazard> found);
  // An access was stopped by the system: nothing is known of it but that.
  void crash(const model::Hazard& hazard);

 private:
  const model::Recorder* const recorder_;
  model::Recording* const launch_;
  model::Recording* recording_ = nullptr;  // null while a block runs that is not recorded
  std::int64_t block_ = 0;
};

}  // namespace trace
