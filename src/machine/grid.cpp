// glibc's checked longjmp refuses to switch between stacks, which is what fibers do.
#undef _FORTIFY_SOURCE

#include "machine/grid.h"

#include <link.h>
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/vector_types.h"
#include "machine/device_memory.h"
#include "machine/session.h"
#include "machine/symbols.h"
#include "model/refusal.h"
#include "model/warp_access.h"
#include "trace/hooks.h"
#include "trace/recorder.h"
#include "trace/warp_log.h"

extern "C" char __executable_start;  // from the linker: places in the code are counted from here

// CUDA's built-in variables; src/cuda/cpu.h shows them to kernels as constants.
__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread uint3 blockDim;
__thread uint3 gridDim;

// What every `extern __shared__ T name[]` of a kernel is bound to (Makefile).
inline constexpr int kDynamicSharedBytes = 227 * 1024;
alignas(1024) __thread char simt_dynamic_shared[kDynamicSharedBytes];

namespace machine {

using simt::BlockVote;
namespace {

// Uneven, so that the same variable of neighbouring fibers does not fall into the same cache set.
constexpr std::size_t kStackBytes = 64 * 1024 + 17 * 64;

constexpr int kMostThreadsInBlock = 1024;

constexpr std::size_t kStackReserve = 8 * 1024;  // for the hooks and what they call

enum class State { kReady, kAtBarrier, kInCollective, kLogFull, kFaulty, kAstray, kDone };

// What a lane that waits for others of its warp wants of them.
enum class Exchange { kBarrier, kBallot, kShuffle, kActive };
struct Collective {
  Exchange kind;
  std::uint32_t mask;
  std::uint64_t value;  // that it gives
  int source;           // the lane that it asks (kShuffle)
  const void* place;    // (kActive)
};

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
  bool vote = false;  // at the block's barrier
  Collective collective{};
  std::uint64_t received = 0;
  std::vector<AsyncCopy> copies;         // issued and not waited for, oldest first
  std::vector<std::size_t> group_sizes;  // of the committed among them
  std::size_t uncommitted = 0;

  void commit_copies() { group_sizes.push_back(std::exchange(uncommitted, 0)); }
  void finish_copies(std::size_t groups_in_flight);
};

uint3 position(std::int64_t index, Extent extent) {
  const auto x = index % extent.x, y = index / extent.x % extent.y;
  return {
      static_cast<unsigned>(x), static_cast<unsigned>(y),
      static_cast<unsigned>(index / extent.x / extent.y)};
}

std::string text_of(uint3 v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

trace::Token place_of_code(std::uintptr_t address) {
  return static_cast<trace::Token>(address - address_of(&__executable_start));
}

// The executable's thread-local variables of this OS thread. A kernel's own among them are its
// __shared__ arrays, and of the others it sees only the built-ins, whose reads are not announced.
std::span<const std::byte> thread_locals() {
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

// On the GPU they are registers, but a reference to one is read like memory.
std::array<trace::MemoryRange, 4> built_in_variables() {
  const auto range = [](const uint3& variable) {
    return trace::MemoryRange{address_of(&variable), sizeof variable};
  };
  return {range(threadIdx), range(blockIdx), range(blockDim), range(gridDim)};
}

// A block cannot go on, because of a hazard that its tracer knows or of this one.
struct Abandoned {
  std::optional<model::Hazard> hazard;
};

// The threads of the operating system that run blocks, for those that look from outside.
struct Runner {
  std::atomic<std::int64_t> block{-1};  // that it runs; -1: none
  pthread_t thread{};
};
std::array<Runner, 1024> runners;  // by OpenMP's number, as far as they go
char name_of_kernel[256];          // cut off where it is longer

// Runs blocks, one after the other, on one thread of the operating system.
class Worker {
 public:
  ~Worker();

  // `arrays`: what the kernel may touch. `tracer` is null where nothing is traced.
  void prepare(
      Extent grid, Extent block, void (*thread)(void*), void* context,
      std::vector<trace::TracedArray> arrays, trace::WarpTracer* tracer);
  void run_block(std::int64_t block);
  bool runs_a_thread() const { return running_ != nullptr; }
  BlockVote vote() const { return vote_; }
  int lane() const { return static_cast<int>(running_ - fibers_.data()) % model::kWarpSize; }

  // Called on a fiber: back to run_block, until the fiber's turn comes again.
  void pause(State state);
  Fiber& running() { return *running_; }
  std::uint64_t exchange(const Collective& collective);
  [[noreturn]] void fault(const std::string& what, const void* place);
  // From a signal handler: the running fiber touched `address`, which is not there; none is known
  // where the access was not aligned.
  [[noreturn]] void crash(std::optional<std::uintptr_t> address, std::uintptr_t instruction);

 private:
  static void fiber_main();
  std::size_t stack_bytes() const { return fibers_.size() * kStackBytes; }
  void release_stacks();
  void mark_shared_memory();
  void provide_stack_for_handlers();
  [[noreturn]] void abandon(std::optional<model::Hazard> hazard);
  model::Hazard crash_of(const Fiber& fiber) const;
  void forget_fibers();
  void resume(Fiber& fiber);
  void run_warp(int warp);
  bool release_collectives(std::span<Fiber> lanes, std::uint32_t waiting, std::uint32_t alive);
  [[noreturn]] void throw_missing_lane(std::span<Fiber> lanes, std::uint32_t alive);
  [[noreturn]] void throw_fault(const Fiber& fiber, const std::string& what, const void* place);

  std::vector<Fiber> fibers_;
  char* stacks_ = nullptr;
  Fiber* running_ = nullptr;
  jmp_buf scheduler_;
  BlockVote vote_{};
  std::string fault_;
  const void* fault_place_ = nullptr;
  std::optional<std::uintptr_t> crash_address_;
  std::uintptr_t crash_instruction_ = 0;
  std::unique_ptr<char[]> handler_stack_;
  std::vector<trace::TracedArray> arrays_;
  std::vector<char> is_shared_;                       // see Hooks
  std::array<bool, kMostThreadsInBlock> has_left_{};  // the kernel, of this block's threads
  std::int64_t block_index_ = 0;

  Extent grid_{}, block_{};
  int threads_ = 0;
  void (*thread_)(void*) = nullptr;
  void* context_ = nullptr;
  trace::WarpTracer* tracer_ = nullptr;
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

Worker::~Worker() {
  release_stacks();
  if (handler_stack_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

// The stack of a fiber may be what is broken, so a handler has its own.
void Worker::provide_stack_for_handlers() {
  constexpr std::size_t kBytes = 64 * 1024;
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  handler_stack_.reset(new char[kBytes]);
  stack.ss_sp = handler_stack_.get();
  stack.ss_size = kBytes;
  stack.ss_flags = 0;
  sigaltstack(&stack, nullptr);
}

void Worker::release_stacks() {
  if (stacks_ != nullptr) munmap(stacks_, stack_bytes());
  stacks_ = nullptr;
}

void Worker::prepare(
    Extent grid, Extent block, void (*thread)(void*), void* context,
    std::vector<trace::TracedArray> arrays, trace::WarpTracer* tracer) {
  grid_ = grid;
  block_ = block;
  threads_ = static_cast<int>(block.volume());
  thread_ = thread;
  context_ = context;
  arrays_ = std::move(arrays);
  tracer_ = tracer;
  provide_stack_for_handlers();
  gridDim = {grid.x, grid.y, grid.z};
  blockDim = {block.x, block.y, block.z};
  if (fibers_.size() < static_cast<std::size_t>(threads_)) {
    release_stacks();
    fibers_ = std::vector<Fiber>(threads_);
    void* memory = mmap(
        nullptr, stack_bytes(), PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
      fibers_.clear();
      throw model::Refusal("not enough memory for the stacks of one block's threads");
    }
    stacks_ = static_cast<char*>(memory);
  }
  for (int i = 0; i < threads_; ++i) fibers_[i].index = position(i, block);
  trace::hooks.stacks = reinterpret_cast<std::uintptr_t>(stacks_);
  trace::hooks.stack_bytes = stack_bytes();
  mark_shared_memory();
}

void Worker::mark_shared_memory() {
  const std::span<const std::byte> locals = thread_locals();
  trace::hooks.locals = reinterpret_cast<std::uintptr_t>(locals.data());
  trace::hooks.locals_bytes = locals.size();
  trace::hooks.looks_for_hazards = tracer_ != nullptr && tracer_->looks_for_hazards();
  is_shared_.assign(locals.size() / 4 + 1, 0);
  const auto mark = [&](std::uintptr_t begin, std::size_t bytes) {
    const std::size_t first = begin - trace::hooks.locals;
    std::fill(is_shared_.begin() + first / 4, is_shared_.begin() + (first + bytes + 3) / 4, 1);
  };
  for (const trace::TracedArray& array : arrays_) {
    if (array.shared && array.bytes > 0) mark(array.begin, array.bytes);
  }
  for (const trace::MemoryRange& variable : built_in_variables())
    mark(variable.begin, variable.bytes);
  trace::hooks.is_shared = is_shared_.data();
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
  trace::hooks.stack_floor = reinterpret_cast<std::uintptr_t>(stack) + kStackReserve;
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
  Fiber& fiber = *std::exchange(running_, nullptr);
  fiber.state = state;
  if (_setjmp(fiber.context) == 0) _longjmp(scheduler_, 1);
}

std::uint64_t Worker::exchange(const Collective& collective) {
  Fiber& fiber = *running_;
  fiber.collective = collective;
  pause(State::kInCollective);
  return fiber.received;
}

void Worker::fault(const std::string& what, const void* place) {
  fault_ = what;
  fault_place_ = place;
  pause(State::kFaulty);
  __builtin_unreachable();
}

void Worker::crash(std::optional<std::uintptr_t> address, std::uintptr_t instruction) {
  crash_address_ = address;
  crash_instruction_ = instruction;
  pause(State::kAstray);
  __builtin_unreachable();
}

// What the fibers were about to do is forgotten, and so are the copies that they had issued.
void Worker::forget_fibers() {
  trace::hooks.log = nullptr;
  for (Fiber& abandoned : fibers_) {
    abandoned.started = false;
    abandoned.copies.clear();
    abandoned.group_sizes.clear();
    abandoned.uncommitted = 0;
  }
}

void Worker::abandon(std::optional<model::Hazard> hazard) {
  forget_fibers();
  throw Abandoned{std::move(hazard)};
}

model::Hazard Worker::crash_of(const Fiber& fiber) const {
  const model::Hazard::Actor actor{
      &fiber - fibers_.data(), 0, false, {place_of_code(crash_instruction_)}};
  if (!crash_address_) return {model::HazardKind::misaligned, "", 0, block_index_, actor, {}};
  return trace::out_of_bounds(arrays_, *crash_address_, 1, block_index_, actor);
}

void Worker::throw_fault(const Fiber& fiber, const std::string& what, const void* place) {
  const uint3 thread = fiber.index;
  forget_fibers();
  throw KernelFault(
      std::string(kernel_name()) + ", block " + text_of(blockIdx) + ", thread " + text_of(thread) +
          ": " + what,
      place);
}

void Worker::run_block(std::int64_t block) {
  block_index_ = block;
  blockIdx = position(block, grid_);
  for (int i = 0; i < threads_; ++i) fibers_[i].state = State::kReady;
  if (tracer_ != nullptr) tracer_->begin_block(block, threads_);
  const int warps = (threads_ + model::kWarpSize - 1) / model::kWarpSize;
  int arrived = 1;
  while (arrived > 0) {
    for (int warp = 0; warp < warps; ++warp) run_warp(warp);
    // Threads that have left the kernel count as arrived, as on the GPU; but see the tracer.
    vote_ = {};
    for (int i = 0; i < threads_; ++i) {
      has_left_[i] = fibers_[i].state == State::kDone;
      if (fibers_[i].state != State::kAtBarrier) continue;
      fibers_[i].state = State::kReady;
      vote_.threads += 1;
      vote_.votes += fibers_[i].vote;
    }
    if (tracer_ != nullptr && vote_.threads > 0) {
      tracer_->barrier({has_left_.data(), static_cast<std::size_t>(threads_)});
      if (tracer_->is_fatal()) abandon({});
    }
    arrived = vote_.threads;
  }
  if (tracer_ != nullptr) tracer_->end_block();
}

// Runs a warp until every lane is at a barrier of the block or done.
void Worker::run_warp(int warp) {
  const int first = warp * model::kWarpSize;
  const std::span<Fiber> lanes(&fibers_[first], std::min(model::kWarpSize, threads_ - first));
  const auto in_state = [&](State state) {
    std::uint32_t found = 0;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      found |= std::uint32_t{lanes[l].state == state} << l;
    }
    return found;
  };
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << lanes.size()) - 1);
  const std::uint32_t began = all & ~in_state(State::kDone);
  while (true) {
    bool ran = false;
    const Fiber* astray = nullptr;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      Fiber& fiber = lanes[l];
      if (tracer_ != nullptr) trace::hooks.log = &tracer_->log(l);
      if (fiber.state != State::kReady &&
          (fiber.state != State::kLogFull || !tracer_->has_room(l))) {
        continue;
      }
      resume(fiber);
      ran = true;
      if (fiber.state == State::kFaulty) throw_fault(fiber, fault_, fault_place_);
      if (fiber.state == State::kAstray) {
        astray = &fiber;
        break;
      }
    }
    trace::hooks.log = nullptr;
    const std::uint32_t log_full = in_state(State::kLogFull);
    const std::uint32_t waiting = in_state(State::kInCollective);
    if (tracer_ != nullptr) {
      // Where all wait for each other the warp is together again. Where only some do, the others
      // may be ahead of them. In a block that is abandoned nothing more comes from any.
      const std::uint32_t running = log_full | (waiting == began ? 0 : waiting);
      tracer_->fold(warp, astray != nullptr ? 0 : running);
      if (tracer_->is_fatal()) abandon({});
    }
    if (astray != nullptr) abandon(crash_of(*astray));
    const std::uint32_t alive = began & ~in_state(State::kDone);
    if (waiting != 0 && release_collectives(lanes, waiting, alive)) continue;
    if (log_full != 0 && (ran || waiting == 0)) continue;
    if (waiting == 0) return;
    throw_missing_lane(lanes, alive);
  }
}

// Lets those of the `waiting` lanes go on whose partners are there. Returns whether any can.
bool Worker::release_collectives(
    std::span<Fiber> lanes, std::uint32_t waiting, std::uint32_t alive) {
  bool released = false;
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const Collective wanted = lanes[l].collective;
    if (lanes[l].state != State::kInCollective || wanted.kind == Exchange::kActive) continue;
    const std::uint32_t group = wanted.mask & alive;
    std::uint32_t votes = 0, here = 0;
    for (std::uint32_t rest = group & waiting; rest != 0; rest &= rest - 1) {
      const int other = std::countr_zero(rest);
      const Fiber& fiber = lanes[other];
      if (fiber.state != State::kInCollective || fiber.collective.kind != wanted.kind ||
          fiber.collective.mask != wanted.mask) {
        continue;
      }
      here |= 1u << other;
      votes |= static_cast<std::uint32_t>(fiber.collective.value != 0) << other;
    }
    if (here != group) continue;
    for (std::uint32_t rest = group; rest != 0; rest &= rest - 1) {
      Fiber& fiber = lanes[std::countr_zero(rest)];
      const int source = fiber.collective.source;
      const bool gives = source >= 0 && source < model::kWarpSize && (group >> source & 1u) != 0;
      fiber.received = wanted.kind == Exchange::kBallot ? votes
                       : gives                          ? lanes[source].collective.value
                                                        : ~std::uint64_t{0};
      fiber.state = State::kReady;
    }
    released = true;
  }
  if (released) return true;

  // Nobody else can go on, so those who ask which lanes are active are together all that will be.
  // Of several groups the one at the lowest place goes first, as lanes that have parted do.
  const void* place = nullptr;
  for (std::uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
    const Collective& asked = lanes[std::countr_zero(rest)].collective;
    if (asked.kind != Exchange::kActive) continue;
    if (place == nullptr || asked.place < place) place = asked.place;
  }
  std::uint32_t active = 0;
  for (std::uint32_t rest = waiting; rest != 0 && place != nullptr; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const Collective& asked = lanes[l].collective;
    if (asked.kind == Exchange::kActive && asked.place == place) active |= 1u << l;
  }
  for (std::uint32_t rest = active; rest != 0; rest &= rest - 1) {
    Fiber& fiber = lanes[std::countr_zero(rest)];
    fiber.received = active;
    fiber.state = State::kReady;
  }
  return active != 0;
}

void Worker::throw_missing_lane(std::span<Fiber> lanes, std::uint32_t alive) {
  const auto waits = [](const Fiber& fiber) { return fiber.state == State::kInCollective; };
  const Fiber& first = *std::find_if(lanes.begin(), lanes.end(), waits);
  const Collective& wanted = first.collective;
  constexpr const char* kCalls[] = {
      "__syncwarp", "a vote (__ballot_sync, __any_sync, __all_sync)",
      "__shfl_sync or one of its kin"};
  const auto comes = [&](const Fiber& fiber) {
    return waits(fiber) && fiber.collective.kind == wanted.kind &&
           fiber.collective.mask == wanted.mask;
  };
  int missing = 0;
  while ((wanted.mask & alive) >> missing % model::kWarpSize & 1u ? comes(lanes[missing]) : true)
    ++missing;
  char mask[sizeof "0xffffffff"];
  std::snprintf(mask, sizeof mask, "0x%08x", wanted.mask);
  throw_fault(
      first,
      std::string("it waits at ") + kCalls[static_cast<int>(wanted.kind)] + " with mask " + mask +
          " for thread " + text_of(lanes[missing].index) + ", which " +
          (lanes[missing].state == State::kAtBarrier
               ? "waits at __syncthreads()"
               : "waits at another call or with another mask"),
      nullptr);
}

Session* session = nullptr;

// All memory that counts, on this OS thread. An address belongs to the first array that holds it.
std::vector<trace::TracedArray> arrays_of(
    const void* kernel, int dynamic_bytes, std::span<const GlobalArray> global) {
  std::vector<trace::TracedArray> arrays;
  for (const GlobalArray& array : global) {
    arrays.push_back({array.name, address_of(array.data), array.bytes, false, array.result});
  }
  for (const GlobalArray& array : device_arrays()) {
    arrays.push_back({array.name, address_of(array.data), array.bytes, false});
  }
  const std::uintptr_t locals = address_of(thread_locals().data());
  for (const SharedArray& array : shared_arrays(kernel)) {
    arrays.push_back({array.name, locals + array.offset, array.bytes, true});
  }
  arrays.push_back(
      {"dynamic", address_of(simt_dynamic_shared), static_cast<std::size_t>(dynamic_bytes), true});
  for (const SharedArray& array : other_shared_arrays(kernel)) {
    arrays.push_back({array.name, locals + array.offset, array.bytes, true});
    if (array.function == nullptr) continue;
    arrays.back().owner = place_of_code(address_of(array.function));
    arrays.back().owner_bytes = static_cast<trace::Token>(array.function_bytes);
  }
  return arrays;
}

// The program itself, with its constants and __device__ variables, and the frame of launch(), where
// the kernel's arguments are.
std::vector<trace::MemoryRange> uncounted_memory(const void* frame) {
  std::vector<trace::MemoryRange> ranges;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          static_cast<std::vector<trace::MemoryRange>*>(found)->push_back(
              {info->dlpi_addr + segment.p_vaddr, segment.p_memsz});
        }
        return 1;  // the executable comes first
      },
      &ranges);
  constexpr std::size_t kFrameBytes = 64 * 1024;
  ranges.push_back({address_of(frame), kFrameBytes});
  return ranges;
}

// A fiber's access to memory that is not there ends its block. Any other is the program's own
// failure, or that of host code, and goes to who was asked before.
struct sigaction handlers_before[2];
void on_access_error(int signal, siginfo_t* info, void* context) {
  if (!worker.runs_a_thread()) {
    sigaction(signal, &handlers_before[signal == SIGBUS], nullptr);
    return;  // and it happens again
  }
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto instruction = static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#else
  const auto instruction = static_cast<std::uintptr_t>(machine.pc);
#endif
  // x86 tells no address of a vector access that is not aligned.
  const bool misaligned = (signal == SIGSEGV && info->si_code == SI_KERNEL) ||
                          (signal == SIGBUS && info->si_code == BUS_ADRALN);
  if (misaligned) worker.crash({}, instruction);
  worker.crash(address_of(info->si_addr), instruction);
}

void watch_for_access_errors() {
  static const bool watching = [] {
    struct sigaction action {};
    action.sa_sigaction = on_access_error;
    // No return from the handler takes a mask back.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &handlers_before[0]);
    sigaction(SIGBUS, &action, &handlers_before[1]);
    return true;
  }();
  static_cast<void>(watching);
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

std::size_t result_words(std::span<const GlobalArray> global) {
  std::size_t words = 0;
  for (const GlobalArray& array : global) {
    if (array.result) words += array.bytes / 4;
  }
  return words;
}

// Who wrote which word of the result (WarpTracer). Zeros that calloc need not write.
std::unique_ptr<std::uint64_t, Free> writers_of(std::span<const GlobalArray> global) {
  void* memory = std::calloc(result_words(global) + 1, sizeof(std::uint64_t));
  if (memory == nullptr) throw std::bad_alloc();
  return std::unique_ptr<std::uint64_t, Free>(static_cast<std::uint64_t*>(memory));
}

void mark_written(
    std::vector<bool>& written, std::span<const GlobalArray> global, const std::uint64_t* writers) {
  std::size_t words = 0;
  for (const GlobalArray& array : global) {
    if (array.result) words += array.bytes / 4;
  }
  written.resize(words);
  for (std::size_t word = 0; word < words; ++word) {
    if (writers[word] != 0) written[word] = true;
  }
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

void require_launchable(const model::Gpu& gpu, const Launch& launch) {
  const Extent grid = launch.grid, block = launch.block;
  const int static_bytes = launch.static_shared_bytes, dynamic_bytes = launch.dynamic_shared_bytes;
  const auto refuse = [](const std::string& why) {
    throw model::Refusal(std::string(kernel_name()) + ": " + why);
  };
  // The same for every GPU of the table.
  constexpr int kStaticSharedBytes = 48 * 1024;
  if (grid.volume() == 0 || block.volume() == 0) {
    refuse(
        "a launch of " + extent_text(grid) + " blocks of " + extent_text(block) +
        " threads is empty");
  }
  if (block.volume() > kMostThreadsInBlock || block.x > 1024 || block.y > 1024 || block.z > 64) {
    refuse(
        "a block of " + extent_text(block) + " threads is more than a GPU takes: at most " +
        "1024 x 1024 x 64, and 1024 in all");
  }
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    refuse(
        "a grid of " + extent_text(grid) + " blocks is more than a GPU takes: at most " +
        "2147483647 x 65535 x 65535");
  }
  if (static_bytes > kStaticSharedBytes) {
    refuse(
        "the kernel's __shared__ arrays take " + std::to_string(static_bytes) +
        " bytes; nvcc allows " + std::to_string(kStaticSharedBytes) +
        ", and more only as dynamic shared memory");
  }
  const int most = gpu.smem_bytes_per_block;
  if (dynamic_bytes < 0 || dynamic_bytes > most - static_bytes) {
    refuse(
        "a block with " + std::to_string(static_bytes) + " + " + std::to_string(dynamic_bytes) +
        " bytes of shared memory (static + dynamic) is " + "more than the " + gpu.name +
        " takes: at most " + std::to_string(most));
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

std::vector<model::Hazard> run(const Machine& machine, const std::function<void()>& host) {
  Session session{&machine, std::nullopt};
  run_in(session, host);
  return session.counts.hazards;
}

void run_blocks(
    const void* kernel, Extent grid, Extent block, int shared_bytes, void (*thread)(void*),
    void* context) {
  const Machine& machine = *session->machine;
  if (model::has_fatal(session->counts)) return;  // what would be wrong now follows from that
  std::snprintf(name_of_kernel, sizeof name_of_kernel, "%s", function_name(kernel).c_str());
  Launch launch{kernel, grid, block, 0, shared_bytes};
  for (const SharedArray& array : shared_arrays(kernel)) {
    launch.static_shared_bytes += static_cast<int>(array.bytes);
  }
  require_launchable(*machine.gpu, launch);
  const std::vector<std::int64_t> chosen = sample(grid);
  const bool only_sample = machine.blocks == Blocks::kSample;
  const std::int64_t candidates = only_sample ? chosen.size() : grid.volume();

  model::Counts counts{};
  const std::span<const GlobalArray> matrices = session->traced.value_or(machine.arrays);
  const auto writers = machine.hazards && session->traced ? writers_of(matrices) : nullptr;
  const std::vector<trace::MemoryRange> uncounted = uncounted_memory(__builtin_frame_address(0));
  watch_for_access_errors();

  std::exception_ptr failure;
  std::int64_t failed_block = -1;
  std::atomic<bool> failed = false;
  const auto fail = [&](std::int64_t index) {
#pragma omp critical
    if (!failure || index < failed_block) {
      failure = std::current_exception();
      failed_block = index;
    }
    failed = true;
  };
  trace::Recorder* const recorder = session->traced ? machine.recorder : nullptr;
  if (recorder != nullptr) {
    model::Recording& recording = recorder->launches.emplace_back();
    recording.kernel = kernel;
    recording.grid = {grid.x, grid.y, grid.z};
    recording.block = {block.x, block.y, block.z};
  }
  const std::int64_t most_workers = recorder != nullptr ? 1 : omp_get_max_threads();
#pragma omp parallel num_threads(std::min(most_workers, candidates))
  {
    std::optional<trace::WarpTracer> tracer;
    Runner& runner = runners[omp_get_thread_num() % runners.size()];
    runner.thread = pthread_self();
    try {
      std::vector<trace::TracedArray> arrays = arrays_of(kernel, shared_bytes, matrices);
      std::vector<trace::MemoryRange> others = uncounted;
      for (const trace::MemoryRange& variable : built_in_variables()) others.push_back(variable);
      if (session->traced) tracer.emplace(arrays, std::move(others), writers.get());
      if (recorder != nullptr) tracer->record(*recorder);
      worker.prepare(grid, block, thread, context, std::move(arrays), tracer ? &*tracer : nullptr);
    } catch (...) {
      fail(-1);
    }
    // Blocks are handed out in the grid's order. So when one fails, those before it are done or
    // under way, and the first of all that fail is found whatever the number of threads.
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < candidates; ++i) {
      if (failed) continue;
      if (machine.blocks == Blocks::kAllButSample &&
          std::binary_search(chosen.begin(), chosen.end(), i)) {
        continue;
      }
      const std::int64_t index = only_sample ? chosen[i] : i;
      try {
        runner.block = index;
        worker.run_block(index);
        if (machine.progress) machine.progress(1);
      } catch (const Abandoned& abandoned) {
#pragma omp critical
        if (abandoned.hazard) {
          trace::add(counts.hazards, *abandoned.hazard);
          if (recorder != nullptr && recorder->records(index)) {
            model::Recording& recording = recorder->launches.back();
            recording.hazards.push_back({*abandoned.hazard, recording.events.size() - 1});
          }
        }
      } catch (...) {
        fail(index);
      }
      runner.block = -1;
    }
    if (tracer) {
#pragma omp critical
      trace::add(counts, tracer->result());
    }
  }
  name_of_kernel[0] = '\0';
  if (failure) std::rethrow_exception(failure);
  if (model::has_fatal(counts)) {
    model::Counts without;  // of abandoned blocks nothing is right
    without.hazards = std::move(counts.hazards);
    counts = std::move(without);
  }
  if (writers != nullptr) {
    session->all_traced &= candidates == grid.volume();
    mark_written(session->written, matrices, writers.get());
  }
  counts.blocks = grid.volume();
  trace::add(session->counts, counts);
  session->counts.blocks += counts.blocks;
  if (machine.launched) machine.launched(launch, counts);
  if (machine.wrote && writers) {
    machine.wrote({writers.get(), result_words(*session->traced)});
  }
}

bool in_kernel() {
  return worker.runs_a_thread();
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

void fault(const std::string& what, const void* place) {
  worker.fault(what, place);
}

namespace {
std::uint64_t exchange(const Collective& collective) {
  if ((collective.mask >> worker.lane() & 1u) == 0) {
    char mask[sizeof "0xffffffff"];
    std::snprintf(mask, sizeof mask, "0x%08x", collective.mask);
    worker.fault(
        std::string("it calls a function of the warp with mask ") + mask +
            ", which leaves its own lane " + std::to_string(worker.lane()) + " out",
        nullptr);
  }
  return worker.exchange(collective);
}
}  // namespace

}  // namespace machine

void simt::run_grid(
    const void* kernel, Extent grid, Extent block, int shared_bytes, void (*thread)(void*),
    void* context) {
  machine::run_blocks(kernel, grid, block, shared_bytes, thread, context);
}

void trace::pause_with_full_log() {
  machine::worker.pause(machine::State::kLogFull);
}
void trace::go_astray() {
  machine::worker.crash(0, 0);
}
simt::BlockVote simt::block_barrier(bool vote) {
  machine::worker.running().vote = vote;
  machine::worker.pause(machine::State::kAtBarrier);
  return machine::worker.vote();
}
int simt::lane() {
  return machine::worker.lane();
}
void simt::warp_barrier(std::uint32_t mask) {
  trace::record(trace::Kind::kWarpBarrier, __builtin_return_address(0));
  machine::exchange({machine::Exchange::kBarrier, mask, 0, 0, nullptr});
}
std::uint32_t simt::warp_ballot(std::uint32_t mask, bool vote) {
  return static_cast<std::uint32_t>(
      machine::exchange({machine::Exchange::kBallot, mask, vote, 0, nullptr}));
}
std::uint64_t simt::warp_shuffle(std::uint32_t mask, std::uint64_t value, int source) {
  return machine::exchange({machine::Exchange::kShuffle, mask, value, source, nullptr});
}
std::uint32_t simt::warp_active(const void* place) {
  return static_cast<std::uint32_t>(
      machine::worker.exchange({machine::Exchange::kActive, 0xffffffffu, 0, 0, place}));
}

void __pipeline_memcpy_async(
    void* shared, const void* global, std::size_t size, std::size_t zfill) {
  trace::record_async_copy(
      shared, zfill < size ? global : nullptr, size, __builtin_return_address(0));
  machine::Fiber& fiber = machine::worker.running();
  fiber.copies.push_back({shared, global, size - zfill, zfill});
  ++fiber.uncommitted;
}

void __pipeline_commit() {
  trace::record(trace::Kind::kCommit, __builtin_return_address(0));
  machine::worker.running().commit_copies();
}

void __pipeline_wait_prior(int groups_in_flight) {
  trace::record_wait(groups_in_flight, __builtin_return_address(0));
  machine::worker.running().finish_copies(groups_in_flight);
}
