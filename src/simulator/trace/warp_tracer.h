// Folds the logs of a warp's lanes into requests, which are then counted, watched and recorded. It
// handles the blocks of one thread of the operating system, one warp at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/trace/audit.h"
#include "simulator/trace/hooks.h"
#include "simulator/trace/launch_watch.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/warp_log.h"
#include "simulator/trace/watch.h"

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
  // What a thread does. Returns the kind of the next event, if this is one of it.
  std::optional<model::RecordedEvent::Kind> action(int thread, const machine::Action& action);
  // A hazard that was found at the most recent event.
  void hazards(std::span<const model::Hazard> found);
  // The system stopped an access. Nothing else is known about it.
  void crash(const model::Hazard& hazard);

 private:
  void add(model::RecordedEvent event);

  const model::Recorder* const recorder_;
  const std::vector<machine::KernelArray>& arrays_;
  model::Recording* const launch_;
  model::Recording* recording_ = nullptr;  // null while the running block is not recorded
  std::int64_t block_ = 0;
};

class WarpTracer : public machine::BlockObserver {
 public:
  // Created and used on one thread of the operating system. `launch` is null if hazards are not
  // looked for, `recorder` if nothing is recorded, `audit` if no block is audited.
  WarpTracer(
      model::WarpGeometry geometry, const machine::KernelMemory& memory, LaunchWatch* launch,
      model::Recorder* recorder, model::Audit* audit);
  ~WarpTracer() override;
  WarpTracer(const WarpTracer&) = delete;
  WarpTracer& operator=(const WarpTracer&) = delete;

  void begin_block(std::int64_t block, int threads) override;
  void end_block() override;
  void cut_block() override;
  void crash(const model::Hazard& hazard) override;
  void go_on() override;
  void resume(int thread, std::span<const char> stack) override;
  std::vector<std::uint32_t> last_places() const override { return log_.last_places(0); }
  bool has_room(int thread) override { return log_.lane_of(thread).has_room(); }
  void outside_kernel(bool outside) override;
  void stop() override;
  bool fold(int warp, std::uint32_t running) override;
  bool barrier(std::span<const bool> left) override;
  void async_copy(
      const void* shared, const void* global, std::size_t bytes, bool fills,
      const void* place) override;
  void access(
      const void* pointer, std::size_t bytes, machine::Access access, const void* place) override;
  void matrix_row(const void* row, int matrices, bool stores, const void* place) override;
  void act(const machine::Action& action, const void* place) override;
  void atomic(
      const void* pointer, std::size_t bytes, machine::AtomicUse use, const void* place) override;
  void swapped(const void* pointer, std::size_t bytes) override {
    watch_.has_swapped(pointer, static_cast<int>(bytes));
  }
  bool found_hazard() const override { return watch_.found_hazard(); }
  model::Counts result() const override;

 private:
  using Together = std::span<Party* const>;
  static void watch_sums();
  void settle_store();
  void execute(Together together);
  // `values`: what a store stores, if has_value().
  void access(
      const model::WarpAccess& access, Token token, Together together,
      const StoredValues* values = nullptr);
  void copy(model::WarpAccess from, const model::WarpAccess& to, Token token, Together together);
  void request(
      Site& site, const model::WarpAccess& access, const RequestCost& cost, Together together,
      const StoredValues* values = nullptr, const model::WarpAccess* other = nullptr);
  void record_hazards();
  void tell(
      const model::WarpAccess& first, const model::WarpAccess& second, Token token, Token path);
  void count(int thread, const machine::Action& action, Token token, Token path);
  std::optional<model::RecordedEvent::Kind> act(
      int thread, std::uint32_t lanes, machine::Action action, Token token, Token path);
  int thread_of(int lane) const { return geometry_.thread_of(warp_, lane); }

  const model::WarpGeometry geometry_;
  const std::vector<char> is_shared_;  // see Hooks
  CallPaths paths_;
  Sites sites_;
  WarpLog log_;
  RequestCosts costs_;
  BlockCounts counts_;
  Watch watch_;
  LocalStores local_stores_;
  std::vector<PartLoad> part_loads_;  // by thread of the block
  EventRecord record_;
  const machine::KernelMemory& memory_;
  model::Audit* audit_;                  // null after a block was audited
  std::optional<AuditedBlock> audited_;  // the running block
  int warp_ = 0;
  std::vector<machine::Action::BoxCopy> copies_;  // that the running block has started
  bool has_multiplied_ = false;                   // a thread of the block, by wgmma
};

}  // namespace trace
