#include "simulator/trace/trace.h"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/machine/observer.h"
#include "simulator/trace/audit.h"
#include "simulator/trace/launch_watch.h"
#include "simulator/trace/warp_tracer.h"

namespace trace {
namespace {

// For all launches of a host function: whose blocks are traced, and which words of the result they
// wrote.
class Tracing : public machine::LaunchObserver {
 public:
  Tracing(const machine::Machine& machine, std::span<const machine::GlobalArray> matrices)
      : machine_(machine), matrices_(matrices) {}

  void begin_launch(const machine::RequestedLaunch& launch) override {
    audit_of_launch_ = machine_.audit;
    if (machine_.hazards) {
      watch_.emplace(matrices_);
      watch_->memory_is_known = all_traced_;
    }
    if (machine_.recorder == nullptr) return;
    model::Recording& recording = machine_.recorder->launches.emplace_back();
    recording.kernel = launch.kernel;
    recording.warp = machine_.gpu->warp;
    recording.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    recording.block = {launch.block.x, launch.block.y, launch.block.z};
  }

  // A recording follows the order of the grid, and an audit needs a single thread. If blocks wait
  // for each other, their actions depend on their order, so a fixed order is used.
  int most_workers() const override {
    const bool in_order = machine_.recorder != nullptr || machine_.audit != nullptr ||
                          (watch_ && watch_->depends_on_order());
    return in_order ? 1 : omp_get_max_threads();
  }

  std::unique_ptr<machine::BlockObserver> observe_blocks(
      const machine::KernelMemory& memory) override {
    return std::make_unique<WarpTracer>(
        machine_.gpu->warp, memory, watch_ ? &*watch_ : nullptr, machine_.recorder,
        is_audited() ? std::exchange(audit_of_launch_, nullptr) : nullptr);
  }

  void add_hazards_between_blocks(
      std::vector<model::Hazard>& hazards, std::span<const machine::KernelArray> arrays) override {
    if (!watch_) return;
    if (machine_.touched) machine_.touched(watch_->touches.all(arrays));
    std::vector<model::Hazard> found = watch_->touches.hazards(watch_->order, arrays);
    for (const model::Hazard& hazard : found) model::add(hazards, hazard);
    // The tracers of the blocks do not know of each other's guesses.
    std::erase_if(
        hazards, [&](const model::Hazard& hazard) { return watch_->touches.is_of_guess(hazard); });
    if (machine_.recorder == nullptr) return;
    // Known only after the launch, so no single event causes it.
    model::Recording& recording = machine_.recorder->launches.back();
    for (const model::Hazard& hazard : found) {
      if (recording.events.empty()) break;
      recording.hazards.push_back({hazard, recording.events.size() - 1});
    }
  }

  void end_launch(bool whole) override {
    if (!watch_) return;
    all_traced_ &= whole;
    const std::span<const std::uint64_t> writers = watch_->writers.words();
    if (all_traced_) written_.resize(writers.size());
    for (std::size_t word = 0; all_traced_ && word < writers.size(); ++word) {
      if (writers[word] != 0) written_[word] = true;
    }
    if (machine_.wrote) machine_.wrote(writers);
  }

  void end_aside() override { all_traced_ &= written_.empty(); }

  // Elements of C that no thread of any launch wrote, as one hazard. This is known only if all
  // blocks were traced and none was abandoned, and if what was traced came last.
  std::optional<model::Hazard> never_written(const model::Counts& counts) const {
    const auto first = std::find(written_.begin(), written_.end(), false);
    const auto result = std::find_if(
        matrices_.begin(), matrices_.end(),
        [](const machine::GlobalArray& matrix) { return matrix.all_written; });
    if (first == written_.end() || result == matrices_.end()) return std::nullopt;
    if (model::has_fatal(counts) || !all_traced_) return std::nullopt;
    model::Hazard hazard{model::HazardKind::never_written, result->name, 0, 0, {}, {}};
    hazard.byte = 4 * static_cast<std::uint64_t>(first - written_.begin());
    hazard.extent = std::count(first, written_.end(), false);
    return hazard;
  }

 private:
  bool is_audited() const {
    return machine_.audit != nullptr && why_no_audit().empty() &&
           machine_.audit->accesses < machine_.audit->most_accesses;
  }

  const machine::Machine& machine_;
  std::span<const machine::GlobalArray> matrices_;
  model::Audit* audit_of_launch_ = nullptr;  // until its first block takes it
  std::optional<LaunchWatch> watch_;         // of the launch; empty if hazards are not looked for
  std::vector<bool> written_;                // of the words of the result, by any launch
  bool all_traced_ = true;                   // every block of every launch
};

}  // namespace

model::Counts trace(
    const machine::Machine& machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host) {
  Tracing tracing(machine, arrays);
  model::Counts counts = machine::run_observed(machine, arrays, tracing, host);
  if (const auto hazard = tracing.never_written(counts)) counts.hazards.push_back(*hazard);
  return counts;
}

}  // namespace trace
