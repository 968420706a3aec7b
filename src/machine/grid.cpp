#include "machine/grid.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "machine/block_sample.h"
#include "machine/launch_limits.h"
#include "machine/observer.h"
#include "machine/runners.h"
#include "machine/symbols.h"
#include "machine/worker.h"

namespace machine {
namespace {

thread_local Worker worker;  // keeps its stacks from launch to launch

// What the launches of the moment run on.
struct Session {
  const Machine* machine;
  std::span<const GlobalArray> arrays;
  LaunchObserver* observer;  // null: run only
  model::Counts counts{};
};
Session* session = nullptr;

model::Counts run_in(Session chosen, const std::function<void()>& host) {
  session = &chosen;
  struct Restore {
    ~Restore() { session = nullptr; }
  } restore;
  host();
  return std::move(chosen.counts);
}

// The blocks of a launch that are to run, in the grid's order.
class ChosenBlocks {
 public:
  ChosenBlocks(Extent grid, Blocks which)
      : sample_(sample_of(grid)), which_(which), volume_(grid.volume()) {}

  bool are_all() const { return candidates() == volume_; }
  // Numbers from 0, each a block or none.
  std::int64_t candidates() const {
    if (which_ == Blocks::kFirst) return std::min<std::int64_t>(1, volume_);
    return which_ == Blocks::kSample ? static_cast<std::int64_t>(sample_.size()) : volume_;
  }
  std::optional<std::int64_t> block(std::int64_t candidate) const {
    if (which_ == Blocks::kSample) return sample_[candidate];
    const bool left_out = which_ == Blocks::kAllButSample &&
                          std::binary_search(sample_.begin(), sample_.end(), candidate);
    return left_out ? std::nullopt : std::optional(candidate);
  }

 private:
  std::vector<std::int64_t> sample_;
  Blocks which_;
  std::int64_t volume_;
};

// The first block, in the grid's order, that went wrong, from whatever thread it came.
class FirstFailure {
 public:
  explicit operator bool() const { return any_; }
  // In a catch clause.
  void note(std::int64_t block) {
#pragma omp critical
    if (!failure_ || block < block_) {
      failure_ = std::current_exception();
      block_ = block;
    }
    any_ = true;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
  std::int64_t block_ = -1;
  std::atomic<bool> any_ = false;
};

Launch launch_of(const void* kernel, Extent grid, Extent block, int shared_bytes) {
  Launch launch{kernel, grid, block, 0, shared_bytes};
  for (const SharedArray& array : shared_arrays(kernel)) {
    launch.static_shared_bytes += static_cast<int>(array.bytes);
  }
  return launch;
}

void run_blocks(const Launch& launch, void (*body)(void*), void* context, const void* frame) {
  const Machine& machine = *session->machine;
  LaunchObserver* const observer = session->observer;
  const ChosenBlocks chosen(launch.grid, machine.blocks);
  const std::vector<MemoryRange> uncounted = uncounted_memory(frame);
  watch_for_access_errors();
  if (observer != nullptr) observer->begin_launch(launch);

  model::Counts counts{};
  FirstFailure failure;
  const std::int64_t most_workers =
      observer != nullptr ? observer->most_workers() : omp_get_max_threads();
  // Always the same number of threads: OpenMP ends those of a team that gets smaller, and where no
  // thread can be made (guard::lock) it could not grow again.
  std::atomic<std::int64_t> next = 0;
#pragma omp parallel num_threads(most_workers)
  if (omp_get_thread_num() < chosen.candidates()) {
    std::unique_ptr<BlockObserver> block_observer;
    try {
      KernelMemory memory{
          arrays_of(launch.kernel, launch.dynamic_shared_bytes, session->arrays),
          uncounted,
          machine.own_variables,
          {},
          {reinterpret_cast<std::uintptr_t>(launch.kernel), function_bytes(launch.kernel)}};
      for (const MemoryRange& variable : built_in_variables()) memory.uncounted.push_back(variable);
      worker.prepare(launch.grid, launch.block, body, context, std::move(memory));
      if (observer != nullptr) block_observer = observer->observe_blocks(worker.memory());
    } catch (...) {
      failure.note(-1);
    }
    worker.set_observer(block_observer.get());
    // Blocks are handed out in the grid's order. So when one fails, those before it are done or
    // under way, and the first of all that fail is found whatever the number of threads.
    for (std::int64_t i; (i = next++) < chosen.candidates();) {
      const std::optional<std::int64_t> block = chosen.block(i);
      if (failure || !block) continue;
      runs_block(omp_get_thread_num(), *block);
      try {
        worker.run_block(*block);
        if (machine.progress) machine.progress(1);
      } catch (const Abandoned& abandoned) {
#pragma omp critical
        if (abandoned.hazard) model::add(counts.hazards, *abandoned.hazard);
      } catch (...) {
        failure.note(*block);
      }
      runs_block(omp_get_thread_num(), -1);
    }
    worker.set_observer(nullptr);
    if (block_observer) {
#pragma omp critical
      model::add(counts, block_observer->result());
    }
  }
  name_kernel("");
  failure.rethrow();
  if (model::has_fatal(counts)) {
    model::Counts without;  // of abandoned blocks nothing is right
    without.hazards = std::move(counts.hazards);
    counts = std::move(without);
  }
  counts.blocks = launch.grid.volume();
  model::add(session->counts, counts);
  session->counts.blocks += counts.blocks;
  if (machine.launched) machine.launched(launch, counts);
  if (observer != nullptr) observer->end_launch(chosen.are_all());
}

}  // namespace

std::vector<model::Hazard> run(const Machine& machine, const std::function<void()>& host) {
  return run_in({&machine, machine.arrays, nullptr}, host).hazards;
}

model::Counts run_observed(
    const Machine& machine, std::span<const GlobalArray> arrays, LaunchObserver& observer,
    const std::function<void()>& host) {
  return run_in({&machine, arrays, &observer}, host);
}

}  // namespace machine

void simt::run_grid(
    const void* kernel, Extent grid, Extent block, int shared_bytes, void (*thread)(void*),
    void* context) {
  using namespace machine;
  if (model::has_fatal(session->counts)) return;  // what would be wrong now follows from that
  name_kernel(function_name(kernel));
  const Launch launch = launch_of(kernel, grid, block, shared_bytes);
  require_launchable(*session->machine->gpu, launch);
  run_blocks(launch, thread, context, __builtin_frame_address(0));
}
