#include "simulator/machine/grid.h"

#include <execinfo.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "simulator/cuda/runtime.h"
#include "simulator/machine/device_heap.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/position.h"
#include "simulator/machine/worker.h"

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
int launches_aside = 0;  // objects simt::Aside

model::Counts run_in(Session chosen, const std::function<void()>& host) {
  struct Restore {
    Session* before;
    ~Restore() { session = before; }
  } restore{std::exchange(session, &chosen)};
  warpSize = chosen.machine->gpu->warp.lanes;  // for the host, too
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

void run_blocks(
    const RequestedLaunch& launch, void (*body)(void*), void* context, std::size_t context_bytes) {
  const Machine& machine = *session->machine;
  LaunchObserver* const observer = session->observer;
  ChosenBlocks chosen(launch.grid, machine);
  const std::vector<MemoryRange> uncounted = uncounted_memory(context, context_bytes);
  watch_for_access_errors();
  if (kernels_may_allocate) make_heap();
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
    const bool too_late = last && (observer != nullptr || !one_waits) && used_s() > *last;
    if (too_late) return std::nullopt;
    if (first_alone && next > 0 && !one_waits) return std::nullopt;
    while (!failure && (next < chosen.candidates() || (one_waits && chosen.extend()))) {
      if (const auto block = chosen.block(next++)) return block;
    }
    return std::nullopt;
  };
  // If blocks wait at a barrier of the grid, one that was abandoned will not come.
  std::atomic<bool> any_abandoned = false;
  source.is_over = [&] { return failure || (any_abandoned && waits_for_all()); };
  source.ended = [&] {
    if (machine.progress) machine.progress(1);
  };
  source.abandoned = [&](const Abandoned& abandoned) {
    any_abandoned = true;
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
  // grow again where no thread can be created (guard::lock). One worker needs no team, whose other
  // threads would only wait for it, and first do so in a loop.
  const auto run = [&](std::int64_t workers) {
    if (workers == 1) return Residents(source, 0).run();
#pragma omp parallel
    if (omp_get_thread_num() < workers) Residents(source, omp_get_thread_num()).run();
  };
  // The first block shows whether blocks wait for each other.
  if (observer != nullptr && blocks_may_wait) {
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
    observer->add_hazards_between_blocks(counts.hazards, arrays);
  }
  if (model::has_fatal(counts)) {
    model::Counts without;  // the values of abandoned blocks are meaningless
    without.hazards = std::move(counts.hazards);
    counts = std::move(without);
  }
  counts.blocks = launch.grid.volume();
  for (model::Hazard& hazard : counts.hazards) {
    hazard.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    hazard.block_size = {launch.block.x, launch.block.y, launch.block.z};
  }
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
  std::span<const GlobalArray> arrays;
  if (session != nullptr) {
    arrays = session->arrays;
  } else if (program_launches != nullptr) {
    arrays = program_launches->arrays();
  }
  const auto found = std::ranges::find_if(arrays, [&](const GlobalArray& array) {
    return offset_from(array.data, address) < array.bytes;
  });
  return found != arrays.end() ? &*found : nullptr;
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
  std::vector<const void*> pointers = take_pointers();
  if (session == nullptr && program_launches != nullptr) {
    return program_launches->launch(
        {kernel, grid, block, static_cast<std::size_t>(shared_bytes), thread, context,
         context_bytes, std::move(pointers)});
  }
  if (model::has_fatal(session->counts)) return;  // further errors would only follow from that
  name_kernel(function_name(kernel));
  const RequestedLaunch launch{
      kernel, grid, block, static_cast<int>(static_shared_bytes(kernel)), shared_bytes};
  require_launchable(*session->machine->gpu, launch);
  if (launches_aside == 0 || session->machine->traces_aside) {
    return run_blocks(launch, thread, context, context_bytes);
  }
  const Machine& machine = *session->machine;
  const Machine all{.gpu = machine.gpu, .own_variables = machine.own_variables};
  for (const model::Hazard& hazard : run_in({&all, session->arrays, nullptr}, [&] {
                                       run_blocks(launch, thread, context, context_bytes);
                                     }).hazards) {
    model::add(session->counts.hazards, hazard);
  }
  if (session->observer != nullptr) session->observer->end_aside();
}

simt::Aside::Aside() {
  ++machine::launches_aside;
}
simt::Aside::~Aside() {
  --machine::launches_aside;
}

unsigned simt::word_at(const unsigned* address) {
  const machine::OpenDeviceMemory open(address);
  return *address;
}

namespace machine {

std::vector<std::int64_t> sample_of(simt::Extent grid) {
  constexpr std::int64_t kSmall = 8;
  if (grid.volume() <= kSmall) {
    std::vector<std::int64_t> all(grid.volume());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::int64_t row = grid.x, last = grid.volume() - 1;
  const std::int64_t middle = (grid.z / 2 * std::int64_t{grid.y} + grid.y / 2) * row + row / 2;
  std::vector<std::int64_t> blocks{0, row - 1, middle, last - (row - 1), last};
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

namespace {

// Of cudaError_t.
constexpr int kInvalidValue = 1, kInvalidConfiguration = 9;

}  // namespace

void require_launchable(const model::Gpu& gpu, const RequestedLaunch& launch) {
  const Extent grid = launch.grid, block = launch.block;
  const int static_bytes = launch.static_shared_bytes, dynamic_bytes = launch.dynamic_shared_bytes;
  const auto refuse = [](const std::string& why, int error = kInvalidConfiguration) {
    throw LaunchRefusal(std::string(kernel_name()) + ": " + why, error);
  };
  // These limits are the same for every GPU of the table.
  constexpr int kStaticSharedBytes = 48 * 1024;
  if (grid.volume() == 0 || block.volume() == 0) {
    refuse("a launch of " + text_of(grid) + " blocks of " + text_of(block) + " threads is empty");
  }
  if (block.volume() > kMostThreadsInBlock || block.x > 1024 || block.y > 1024 || block.z > 64) {
    refuse(
        "a block of " + text_of(block) + " threads is more than a GPU accepts: at most " +
        "1024 x 1024 x 64, and 1024 in all");
  }
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    refuse(
        "a grid of " + text_of(grid) + " blocks is more than a GPU accepts: at most " +
        "2147483647 x 65535 x 65535");
  }
  if (static_bytes > kStaticSharedBytes) {
    refuse(
        "the __shared__ arrays of the kernel and of what it calls take " +
        std::to_string(static_bytes) + " bytes; nvcc allows " + std::to_string(kStaticSharedBytes) +
        ", and more only as dynamic shared memory");
  }
  const int most = gpu.smem_bytes_per_block;
  if (dynamic_bytes < 0 || dynamic_bytes > most - static_bytes) {
    refuse(
        "a block with " + std::to_string(static_bytes) + " + " + std::to_string(dynamic_bytes) +
            " bytes of shared memory (static + dynamic) is " + "more than the " + gpu.name +
            " takes: at most " + std::to_string(most),
        kInvalidValue);
  }
}

namespace {

struct Runner {
  std::atomic<std::int64_t> block{-1};
  pthread_t thread{};
};
std::array<Runner, 1024> runners;  // by OpenMP's thread number, as far as there is room
char name_of_kernel[256];
std::atomic<void (*)()> called_at_end_of_turn = nullptr;

}  // namespace

bool in_kernel() {
  return running_worker != nullptr;
}

const char* kernel_name() {
  return name_of_kernel;
}

std::optional<pthread_t> runner_of_first_block() {
  const Runner* first = nullptr;
  for (const Runner& runner : runners) {
    if (runner.block >= 0 && (first == nullptr || runner.block < first->block)) first = &runner;
  }
  if (first == nullptr) return std::nullopt;
  return first->thread;
}

void call_at_end_of_turn(void (*what)()) {
  called_at_end_of_turn = what;
}

void at_end_of_turn() {
  const auto what = called_at_end_of_turn.load(std::memory_order_relaxed);
  if (what == nullptr) return;
  const std::optional<pthread_t> first = runner_of_first_block();
  if (first && pthread_equal(*first, pthread_self())) what();
}

void name_kernel(const std::string& name) {
  std::snprintf(name_of_kernel, sizeof name_of_kernel, "%s", name.c_str());
}

void runs_block(int number, std::int64_t block) {
  Runner& runner = runners[number % runners.size()];
  if (block >= 0) runner.thread = pthread_self();
  runner.block = block;
}

ProgramLaunches* program_launches = nullptr;
TracedKernel traced_kernel;

namespace {

// A fiber that runs only up to the kernel's beginning. Launches come from one thread at a time.
struct Search {
  Stacks stack;
  Context caller;
  Fiber fiber;
  void (*thread)(void*) = nullptr;
  void* context = nullptr;
  const void* found = nullptr;
};
Search* search = nullptr;

void search_kernel() {
  search->thread(search->context);
  search->fiber.pause(search->caller);
}

// The host has called a kernel that has just begun: the frames are this one, that of
// kernel_begins(), the kernel's and its caller's.
[[noreturn]] [[gnu::noinline]] void refuse_call_by_host() {
  void* frames[4] = {};
  backtrace(frames, 4);
  throw KernelFault(
      "the host calls the kernel " + function_name(function_containing(frames[2])) +
          " as a function, which launches nothing; launch it with <<<blocks, threads>>> before its "
          "arguments",
      frames[3]);
}

void outside_kernel(bool outside) {
  if (running_worker == nullptr) return;
  if (BlockObserver* observer = running_worker->observer()) observer->outside_kernel(outside);
}

std::uint64_t references_of(const void* kernel) {
  static std::map<const void*, std::uint64_t> known;
  const auto [entry, is_new] = known.try_emplace(kernel, 0);
  if (is_new) {
    const auto types = function_parameters(kernel).value_or(std::vector<std::string>());
    for (std::size_t i = 0; i < types.size() && i < 64; ++i) {
      if (types[i].ends_with('&')) entry->second |= std::uint64_t{1} << i;
    }
  }
  return entry->second;
}

std::vector<DeviceVariable>& variables() {
  static std::vector<DeviceVariable> registered;
  return registered;
}

}  // namespace

const void* kernel_called_by(void (*thread)(void*), void* context) {
  static Search one;
  one.stack.reserve(1);
  one.thread = thread;
  one.context = context;
  one.found = nullptr;
  search = &one;
  one.fiber.forget();
  one.fiber.resume(one.caller, one.stack.of(0), search_kernel);
  search = nullptr;
  return one.found == nullptr ? nullptr : function_containing(one.found);
}

const std::vector<DeviceVariable>& device_variables() {
  return variables();
}

}  // namespace machine

namespace {
__thread unsigned cluster_blocks;  // of the kernel that runs
}  // namespace

void simt::cluster_begins(unsigned x, unsigned y, unsigned z) {
  cluster_blocks = x * y * z;
}

void simt::use_cluster() {
  if (cluster_blocks <= 1) return;
  machine::fault(
      "it uses its cluster of " + std::to_string(cluster_blocks) +
          " blocks; on the CPU a cluster has one block, so take __cluster_dims__ away",
      __builtin_return_address(0));
}

void simt::kernel_begins() {
  using machine::search;
  cluster_blocks = 1;
  if (search == nullptr && machine::running_worker == nullptr) machine::refuse_call_by_host();
  if (search == nullptr) return machine::outside_kernel(false);
  search->found = __builtin_return_address(0);
  search->fiber.pause(search->caller);
}

void simt::call_begins() {
  machine::outside_kernel(true);
}

const void* simt::traced_kernel(const void* kernel) {
  return kernel == machine::traced_kernel.plain ? machine::traced_kernel.traced : kernel;
}

void simt::run_called(
    Extent grid, Extent block, std::size_t shared_bytes, void (*thread)(void*), void* context,
    std::uint64_t* references) {
  if (machine::in_kernel()) {
    machine::fault(
        "it launches a kernel: launches by kernels are not supported", __builtin_return_address(0));
  }
  const machine::HostLock lock;
  const void* kernel = machine::kernel_called_by(thread, context);
  if (kernel == nullptr) {
    throw model::Refusal(
        "a launch calls a function that is not __global__; only kernels can be launched");
  }
  *references = machine::references_of(kernel);
  // The arguments are read before the kernel begins.
  run_grid(kernel, grid, block, static_cast<int>(shared_bytes), thread, context, 0);
}

namespace {
int last_launch_error = 0;
}  // namespace

void simt::set_launch_error(int error) {
  last_launch_error = error;
}
int simt::launch_error() {
  return last_launch_error;
}

simt::DeviceVariable::DeviceVariable(
    const char* name, const volatile void* data, std::size_t bytes, std::size_t element,
    VariableKind kind) {
  std::vector<machine::DeviceVariable>& known = machine::variables();
  const bool again = std::any_of(known.begin(), known.end(), [data](const auto& variable) {
    return variable.data == data;  // both copies of the file register it
  });
  if (!again) known.push_back({name, const_cast<const void*>(data), bytes, kind, element});
}
