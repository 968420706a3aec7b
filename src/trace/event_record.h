// Writes what a tracer sees of the chosen blocks into a recording (src/model/recording.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/kernel_memory.h"
#include "machine/observer.h"
#include "model/recording.h"
#include "model/warp_access.h"
#include "trace/request_costs.h"
#include "trace/sites.h"

namespace trace {

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
  // What a thread told an mbarrier, the copy engine or the tensor cores, if a recording has that.
  void action(int thread, const machine::AsyncAction& action);
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

}  // namespace trace
