#include "machine/grid.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "machine/block_sample.h"
#include "machine/device_memory.h"
#include "machine/host_lock.h"
#include "machine/launch_limits.h"
#include "machine/observer.h"
#include "machine/position.h"
#include "machine/program.h"
#include "machine/residents.h"
#include "machine/runners.h"
#include "machine/symbols.h"
#include "machine/waiting.h"

namespace machine {
namespace {

// The settings for the current launches.
struct Session {
  const Machine* machine;
  std::span<const GlobalArray> arrays;
  LaunchObserver* observer;  // null: the blocks run without an observer
  model::Counts counts{};
};
Session* session = nullptr;

model::Counts run_in(Session chosen, const std::function<void()>& host) {
  session = &chosen;
  warpSize = chosen.machine->gpu->warp.lanes;  // for the host, too
  struct Restore {
    ~Restore() { session = nullptr; }
  } restore;
  host();
  return std::move(chosen.counts);
}

// The blocks of a launch that are to run. Each is handed out once, in the grid's order unless the
// machine has another.
class ChosenBlocks {
 public:
  ChosenBlocks(Extent grid, const Machine& machine)
      : sample_(machine.sample ? machine.sample(grid) : sample_of(grid)),
        which_(machine.blocks),
        volume_(grid.volume()) {
    if (machine.order && which_ == Blocks::kAll) order_ = machine.order(grid);
  }

  bool are_all() const { return extended_ || candidates() == volume_; }
  // Numbers from 0; each is a block or none.
  std::int64_t candidates() const {
    if (which_ == Blocks::kFirst) return std::min<std::int64_t>(1, volume_);
    const auto sampled = static_cast<std::int64_t>(sample_.size());
    return which_ != Blocks::kSample ? volume_ : extended_ ? sampled + volume_ : sampled;
  }
  std::optional<std::int64_t> block(std::int64_t candidate) const {
    if (!order_.empty()) return order_[candidate];
    if (which_ == Blocks::kAll || which_ == Blocks::kFirst) return candidate;
    if (which_ == Blocks::kSample) {
      const auto sampled = static_cast<std::int64_t>(sample_.size());
      if (candidate < sampled) return sample_[candidate];
      candidate -= sampled;
    }
    const bool left_out = std::binary_search(sample_.begin(), sample_.end(), candidate);
    return left_out ? std::nullopt : std::optional(candidate);
  }
  // If a block of a sample waits for a block outside of it, all blocks must run. Returns whether
  // there are more blocks now.
  bool extend() {
    return which_ == Blocks::kSample && !are_all() && !std::exchange(extended_, true);
  }

 private:
  std::vector<std::int64_t> sample_;
  std::vector<std::int64_t> order_;  // empty: the grid's
  Blocks which_;
  std::int64_t volume_;
  bool extended_ = false;
};

// The first failed block in the grid's order, whichever thread ran it.
class FirstFailure {
 public:
  explicit operator bool() const { return any_; }
  // Call this in a catch clause.
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

void run_blocks(
    const Launch& launch, void (*body)(void*), void* context, std::size_t context_bytes) {
  const Machine& machine = *session->machine;
  LaunchObserver* const observer = session->observer;
  ChosenBlocks chosen(launch.grid, machine);
  const std::vector<MemoryRange> uncounted = uncounted_memory(context, context_bytes);
  watch_for_access_errors();
  const OpenDeviceMemory open;
  if (observer != nullptr) observer->begin_launch(launch);

  model::Counts counts{};
  FirstFailure failure;
  grid_barrier = {machine.blocks != Blocks::kAllButSample, 0};
  // Blocks are handed out in the grid's order. So when one fails, all blocks before it are done or
  // running, and the first failed block is the same for any number of threads.
  std::mutex lock;
  std::int64_t next = 0;
  bool first_alone = false;
  BlockSource source;
  source.prepare = [&](Resident& resident) {
    KernelMemory memory{
        arrays_of(launch.kernel, launch.dynamic_shared_bytes, session->arrays),
        uncounted,
        machine.own_variables,
        machine.host_variables,
        {},
        {reinterpret_cast<std::uintptr_t>(launch.kernel), function_bytes(launch.kernel)}};
    for (const MemoryRange& variable : built_in_variables()) memory.uncounted.push_back(variable);
    resident.worker.prepare(
        machine.gpu->warp, launch.grid, launch.block, body, context, std::move(memory));
    if (observer != nullptr) resident.observer = observer->observe_blocks(resident.worker.memory());
    resident.worker.set_observer(resident.observer.get());
    resident.worker.set_cut_after(machine.cut_blocks_after);
  };
  source.next = [&](bool one_waits) -> std::optional<std::int64_t> {
    const std::lock_guard guard(lock);
    const auto& last = observer != nullptr ? machine.cut_blocks_after : machine.no_blocks_after;
    const bool too_late =
        last && (observer != nullptr || !one_waits) && std::chrono::steady_clock::now() > *last;
    if (too_late) return std::nullopt;
    if (first_alone && next > 0 && !one_waits) return std::nullopt;
    while (!failure && (next < chosen.candidates() || (one_waits && chosen.extend()))) {
      if (const auto block = chosen.block(next++)) return block;
    }
    return std::nullopt;
  };
  source.is_over = [&] { return bool(failure); };
  source.ended = [&] {
    if (machine.progress) machine.progress(1);
  };
  source.abandoned = [&](const Abandoned& abandoned) {
#pragma omp critical
    if (abandoned.hazard) model::add(counts.hazards, *abandoned.hazard);
  };
  source.failed = [&](std::int64_t block) { failure.note(block); };
  source.observed = [&](const BlockObserver& block_observer) {
#pragma omp critical
    model::add(counts, block_observer.result());
  };
  const auto most_workers = [&]() -> std::int64_t {
    const std::int64_t most = observer == nullptr ? omp_get_max_threads()
                              : machine.sample    ? 1
                                                  : observer->most_workers();
    return std::clamp<std::int64_t>(chosen.candidates() - next, 1, most);
  };
  // The number of threads never changes: OpenMP ends threads when a team shrinks, and it could not
  // grow again where no thread can be created (guard::lock).
  const auto run = [&](std::int64_t workers) {
#pragma omp parallel
    if (omp_get_thread_num() < workers) Residents(source, omp_get_thread_num()).run();
  };
  // The first block shows whether blocks wait for each other.
  if (observer != nullptr && blocks_may_wait()) {
    first_alone = true;
    run(1);
    first_alone = false;
  }
  run(most_workers());
  name_kernel("");
  failure.rethrow();
  if (observer != nullptr && chosen.candidates() > 0) {
    const std::vector<KernelArray> arrays =
        arrays_of(launch.kernel, launch.dynamic_shared_bytes, session->arrays);
    for (const model::Hazard& hazard : observer->hazards_between_blocks(arrays)) {
      model::add(counts.hazards, hazard);
    }
  }
  if (model::has_fatal(counts)) {
    model::Counts without;  // the values of abandoned blocks are meaningless
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

const model::Gpu* current_gpu() {
  if (session != nullptr) return session->machine->gpu;
  return program_launches != nullptr ? program_launches->gpu() : nullptr;
}

const GlobalArray* current_array_at(const void* address) {
  if (session == nullptr) return nullptr;
  const auto holds = [&](const GlobalArray& array) {
    return reinterpret_cast<std::uintptr_t>(address) -
               reinterpret_cast<std::uintptr_t>(array.data) <
           array.bytes;
  };
  const auto found = std::find_if(session->arrays.begin(), session->arrays.end(), holds);
  return found != session->arrays.end() ? &*found : nullptr;
}

model::Counts run_observed(
    const Machine& machine, std::span<const GlobalArray> arrays, LaunchObserver& observer,
    const std::function<void()>& host) {
  return run_in({&machine, arrays, &observer}, host);
}

}  // namespace machine

void simt::run_grid(
    const void* kernel, Extent grid, Extent block, int shared_bytes, void (*thread)(void*),
    void* context, std::size_t context_bytes) {
  using namespace machine;
  const HostLock lock;
  if (session == nullptr && program_launches != nullptr) {
    return program_launches->launch(
        {kernel, grid, block, static_cast<std::size_t>(shared_bytes), thread, context,
         context_bytes});
  }
  if (model::has_fatal(session->counts)) return;  // further errors would only follow from that
  name_kernel(function_name(kernel));
  const Launch launch = launch_of(kernel, grid, block, shared_bytes);
  require_launchable(*session->machine->gpu, launch);
  run_blocks(launch, thread, context, context_bytes);
}
