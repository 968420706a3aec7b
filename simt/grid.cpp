// glibc's checked longjmp refuses to switch between stacks, which is what fibers do.
#undef _FORTIFY_SOURCE

#include "simt/grid.h"

#include <link.h>
#include <omp.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "model/warp_access.h"
#include "simt/hooks.h"
#include "simt/session.h"
#include "simt/symbols.h"
#include "simt/warp_log.h"

// CUDA's built-in variables; simt/cpu.h shows them to kernels as constants.
struct uint3 {
  unsigned x, y, z;
};
__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread uint3 blockDim;
__thread uint3 gridDim;

// What every `extern __shared__ T name[]` of a kernel is bound to (Makefile).
inline constexpr int kDynamicSharedBytes = 227 * 1024;
alignas(1024) __thread char simt_dynamic_shared[kDynamicSharedBytes];

namespace simt {
namespace {

// Uneven, so that the same variable of neighbouring fibers does not fall into the same cache set.
constexpr std::size_t kStackBytes = 64 * 1024 + 17 * 64;

constexpr std::size_t kStackReserve = 8 * 1024;  // for the hooks and what they call

enum class State { kReady, kAtBarrier, kAtWarpBarrier, kLogFull, kDone };

struct AsyncCopy {
  void* to;
  const void* from;
  std::size_t bytes;  // copied
  std::size_t zeros;  // filled with zeros behind them
};

struct Fiber {
  jmp_buf context;
  bool started = false;
  State state = State::kDone;
  uint3 index{};
  std::vector<AsyncCopy> copies;         // issued and not waited for, oldest first
  std::vector<std::size_t> group_sizes;  // of the committed among them
  std::size_t uncommitted = 0;

  void commit_copies() { group_sizes.push_back(std::exchange(uncommitted, 0)); }
  void finish_copies(std::size_t groups_in_flight);
};

uint3 position(std::int64_t index, Extent extent) {
  const auto x = index % extent.x, y = index / extent.x % extent.y;
  return {static_cast<unsigned>(x), static_cast<unsigned>(y),
          static_cast<unsigned>(index / extent.x / extent.y)};
}

// Runs blocks, one after the other, on one thread of the operating system.
class Worker {
 public:
  ~Worker() { release_stacks(); }

  // `tracer` is null where nothing is traced.
  void prepare(Extent grid, Extent block, void (*thread)(void*), void* context, WarpTracer* tracer);
  void run_block(std::int64_t block);

  // Called on a fiber: back to run_block, until the fiber's turn comes again.
  void pause(State state);
  Fiber& running() { return *running_; }

 private:
  static void fiber_main();
  std::size_t stack_bytes() const { return fibers_.size() * kStackBytes; }
  void release_stacks();
  void resume(Fiber& fiber);
  void run_warp(int warp);

  std::vector<Fiber> fibers_;
  char* stacks_ = nullptr;
  Fiber* running_ = nullptr;
  jmp_buf scheduler_;

  Extent grid_{}, block_{};
  int threads_ = 0;
  void (*thread_)(void*) = nullptr;
  void* context_ = nullptr;
  WarpTracer* tracer_ = nullptr;
};

thread_local Worker worker;

void Fiber::finish_copies(std::size_t groups_in_flight) {
  while (group_sizes.size() > groups_in_flight) {
    const auto end = copies.begin() + group_sizes.front();
    for (auto copy = copies.begin(); copy != end; ++copy) {
      std::memcpy(copy->to, copy->from, copy->bytes);
      std::memset(static_cast<char*>(copy->to) + copy->bytes, 0, copy->zeros);
    }
    copies.erase(copies.begin(), end);
    group_sizes.erase(group_sizes.begin());
  }
}

void Worker::release_stacks() {
  if (stacks_ != nullptr) munmap(stacks_, stack_bytes());
  stacks_ = nullptr;
}

void Worker::prepare(Extent grid, Extent block, void (*thread)(void*), void* context,
                     WarpTracer* tracer) {
  grid_ = grid;
  block_ = block;
  threads_ = static_cast<int>(block.volume());
  thread_ = thread;
  context_ = context;
  tracer_ = tracer;
  gridDim = {grid.x, grid.y, grid.z};
  blockDim = {block.x, block.y, block.z};
  if (fibers_.size() < static_cast<std::size_t>(threads_)) {
    release_stacks();
    fibers_ = std::vector<Fiber>(threads_);
    void* memory = mmap(nullptr, stack_bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
      fibers_.clear();
      throw Refusal("not enough memory for the stacks of one block's threads");
    }
    stacks_ = static_cast<char*>(memory);
  }
  for (int i = 0; i < threads_; ++i) fibers_[i].index = position(i, block);
  hooks.stacks = reinterpret_cast<std::uintptr_t>(stacks_);
  hooks.stack_bytes = stack_bytes();
}

void Worker::fiber_main() {
  while (true) {
    worker.thread_(worker.context_);
    worker.running_->commit_copies();  // what was not waited for arrives all the same
    worker.running_->finish_copies(0);
    worker.pause(State::kDone);
  }
}

void Worker::resume(Fiber& fiber) {
  running_ = &fiber;
  threadIdx = fiber.index;
  char* const stack = stacks_ + (&fiber - fibers_.data()) * kStackBytes;
  hooks.stack_floor = reinterpret_cast<std::uintptr_t>(stack) + kStackReserve;
  if (_setjmp(scheduler_) != 0) return;
  if (fiber.started) _longjmp(fiber.context, 1);
  fiber.started = true;
  ucontext_t start;
  getcontext(&start);
  start.uc_stack.ss_sp = stack;
  start.uc_stack.ss_size = kStackBytes;
  start.uc_link = nullptr;
  makecontext(&start, fiber_main, 0);
  setcontext(&start);
}

void Worker::pause(State state) {
  running_->state = state;
  if (_setjmp(running_->context) == 0) _longjmp(scheduler_, 1);
}

void Worker::run_block(std::int64_t block) {
  blockIdx = position(block, grid_);
  for (int i = 0; i < threads_; ++i) fibers_[i].state = State::kReady;
  if (tracer_ != nullptr) tracer_->begin_block(block, threads_);
  const int warps = (threads_ + kWarpSize - 1) / kWarpSize;
  bool at_barrier = true;
  while (at_barrier) {
    at_barrier = false;
    for (int warp = 0; warp < warps; ++warp) run_warp(warp);
    // Threads that have left the kernel count as arrived, as on the GPU.
    for (int i = 0; i < threads_; ++i) {
      if (fibers_[i].state != State::kAtBarrier) continue;
      fibers_[i].state = State::kReady;
      at_barrier = true;
    }
    if (tracer_ != nullptr && at_barrier) tracer_->barrier();
  }
  if (tracer_ != nullptr) tracer_->end_block();
}

// Runs a warp until every lane is at a barrier of the block or done.
void Worker::run_warp(int warp) {
  const int first = warp * kWarpSize;
  const int lanes = std::min(kWarpSize, threads_ - first);
  while (true) {
    std::uint32_t log_full = 0;
    bool at_warp_barrier = false;
    for (int l = 0; l < lanes; ++l) {
      Fiber& fiber = fibers_[first + l];
      if (tracer_ != nullptr) hooks.log = &tracer_->log(l);
      if (fiber.state == State::kReady ||
          (fiber.state == State::kLogFull && tracer_->has_room(l))) {
        resume(fiber);
      }
      log_full |= std::uint32_t{fiber.state == State::kLogFull} << l;
      at_warp_barrier |= fiber.state == State::kAtWarpBarrier;
    }
    hooks.log = nullptr;
    if (tracer_ != nullptr) tracer_->fold(warp, log_full);
    if (log_full != 0) continue;
    if (!at_warp_barrier) return;
    for (int l = 0; l < lanes; ++l) {
      Fiber& fiber = fibers_[first + l];
      if (fiber.state == State::kAtWarpBarrier) fiber.state = State::kReady;
    }
  }
}

Session* session = nullptr;

// The executable's thread-local variables of this OS thread. A kernel's own among them are its
// __shared__ arrays, and of the others it sees only the built-ins, whose reads are not announced.
std::span<const std::byte> shared_memory() {
  std::span<const std::byte> block;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
          *static_cast<std::span<const std::byte>*>(found) = {
              static_cast<const std::byte*>(info->dlpi_tls_data), info->dlpi_phdr[i].p_memsz};
        }
        return 1;  // the executable comes first; the libraries do not matter
      },
      &block);
  return block;
}

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

// All memory that counts, on this OS thread. An address belongs to the first array that holds it.
std::vector<TracedArray> arrays_of(const void* kernel, int dynamic_bytes,
                                   std::span<const GlobalArray> global) {
  std::vector<TracedArray> arrays;
  for (const GlobalArray& array : global) {
    arrays.push_back({array.name, address_of(array.data), array.bytes, false, array.result});
  }
  const std::span<const std::byte> shared = shared_memory();
  for (const SharedArray& array : shared_arrays(kernel)) {
    arrays.push_back({array.name, address_of(shared.data()) + array.offset, array.bytes, true});
  }
  arrays.push_back(
      {"dynamic", address_of(simt_dynamic_shared), static_cast<std::size_t>(dynamic_bytes), true});
  arrays.push_back({"shared", address_of(shared.data()), shared.size(), true});
  return arrays;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Who wrote which word of the result (WarpTracer). Zeros that calloc need not write.
std::unique_ptr<std::uint64_t, Free> writers_of(std::span<const GlobalArray> global) {
  std::size_t words = 1;
  for (const GlobalArray& array : global) {
    if (array.result) words += array.bytes / 4;
  }
  void* memory = std::calloc(words, sizeof(std::uint64_t));
  if (memory == nullptr) throw std::bad_alloc();
  return std::unique_ptr<std::uint64_t, Free>(static_cast<std::uint64_t*>(memory));
}

// The blocks that stand for the grid: the first, the middle one, and the last of a row, of a column
// and of all, where the edges of C are. A small grid is its own sample.
std::vector<std::int64_t> sample(Extent grid) {
  constexpr std::int64_t kSmall = 8;
  if (grid.volume() <= kSmall) {
    std::vector<std::int64_t> all(grid.volume());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::int64_t row = grid.x, last = grid.volume() - 1;
  std::vector<std::int64_t> blocks{0, row - 1, grid.y / 2 * row + row / 2, last - (row - 1), last};
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

std::string extent_text(Extent extent) {
  return std::to_string(extent.x) + " x " + std::to_string(extent.y) + " x " +
         std::to_string(extent.z);
}

void require_launchable(const Gpu& gpu, const void* kernel, Extent grid, Extent block,
                        int dynamic_bytes) {
  // The same for every GPU of the table.
  constexpr int kThreadsPerBlock = 1024;
  constexpr std::size_t kStaticSharedBytes = 48 * 1024;
  if (grid.volume() == 0 || block.volume() == 0) {
    throw Refusal("a launch of " + extent_text(grid) + " blocks of " + extent_text(block) +
                  " threads is empty");
  }
  if (block.volume() > kThreadsPerBlock || block.x > 1024 || block.y > 1024 || block.z > 64) {
    throw Refusal("a block of " + extent_text(block) +
                  " threads is more than a GPU takes: at most " +
                  "1024 x 1024 x 64, and 1024 in all");
  }
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    throw Refusal("a grid of " + extent_text(grid) + " blocks is more than a GPU takes: at most " +
                  "2147483647 x 65535 x 65535");
  }
  std::size_t static_bytes = 0;
  for (const SharedArray& array : shared_arrays(kernel)) static_bytes += array.bytes;
  if (static_bytes > kStaticSharedBytes) {
    throw Refusal("the kernel's __shared__ arrays take " + std::to_string(static_bytes) +
                  " bytes; nvcc allows " + std::to_string(kStaticSharedBytes) +
                  ", and more only as dynamic shared memory");
  }
  const auto most = static_cast<std::size_t>(gpu.smem_bytes_per_block);
  if (dynamic_bytes < 0 || static_bytes + dynamic_bytes > most) {
    throw Refusal("a block with " + std::to_string(static_bytes) + " + " +
                  std::to_string(dynamic_bytes) + " bytes of shared memory (static + dynamic) is " +
                  "more than the " + gpu.name + " takes: at most " + std::to_string(most));
  }
}

}  // namespace

void run_in(Session& chosen, const std::function<void()>& host) {
  session = &chosen;
  struct Restore {
    ~Restore() { session = nullptr; }
  } restore;
  host();
}

void run(const Machine& machine, const std::function<void()>& host) {
  Session session{&machine, std::nullopt};
  run_in(session, host);
}

void run_grid(const void* kernel, Extent grid, Extent block, int shared_bytes,
              void (*thread)(void*), void* context) {
  const Machine& machine = *session->machine;
  require_launchable(*machine.gpu, kernel, grid, block, shared_bytes);
  const std::vector<std::int64_t> chosen = sample(grid);
  const bool only_sample = machine.blocks == Blocks::kSample;
  const std::int64_t candidates = only_sample ? chosen.size() : grid.volume();

  const auto writers = machine.hazards && session->traced ? writers_of(*session->traced) : nullptr;

  std::exception_ptr failure;
#pragma omp parallel num_threads(std::min <std::int64_t>(omp_get_max_threads(), candidates))
  {
    std::optional<WarpTracer> tracer;
    bool ready = false;
    try {
      if (session->traced) {
        tracer.emplace(arrays_of(kernel, shared_bytes, *session->traced), writers.get());
      }
      worker.prepare(grid, block, thread, context, tracer ? &*tracer : nullptr);
      ready = true;
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < candidates; ++i) {
      if (!ready) continue;
      if (machine.blocks == Blocks::kAllButSample &&
          std::binary_search(chosen.begin(), chosen.end(), i)) {
        continue;
      }
      worker.run_block(only_sample ? chosen[i] : i);
      if (machine.progress) machine.progress(1);
    }
    if (tracer) {
#pragma omp critical
      add(session->counts, tracer->result());
    }
  }
  if (failure) std::rethrow_exception(failure);
  session->counts.blocks += grid.volume();
}

void pause_with_full_log() {
  worker.pause(State::kLogFull);
}
void block_barrier() {
  worker.pause(State::kAtBarrier);
}
void warp_barrier() {
  record(Kind::kWarpBarrier, __builtin_return_address(0));
  worker.pause(State::kAtWarpBarrier);
}

}  // namespace simt

void __pipeline_memcpy_async(void* shared, const void* global, std::size_t size,
                             std::size_t zfill) {
  simt::record_async_copy(shared, zfill < size ? global : nullptr, size,
                          __builtin_return_address(0));
  simt::Fiber& fiber = simt::worker.running();
  fiber.copies.push_back({shared, global, size - zfill, zfill});
  ++fiber.uncommitted;
}

void __pipeline_commit() {
  simt::record(simt::Kind::kCommit, __builtin_return_address(0));
  simt::worker.running().commit_copies();
}

void __pipeline_wait_prior(int groups_in_flight) {
  simt::record_wait(groups_in_flight, __builtin_return_address(0));
  simt::worker.running().finish_copies(groups_in_flight);
}
