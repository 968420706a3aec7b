#include "simulator/machine/worker.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "model/refusal.h"
#include "model/warp_access.h"
#include "simulator/machine/copy_engine.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/position.h"

#if defined(__x86_64__)
// Pushes the registers that a function must keep, leaves the stack in *from, and continues where
// the stack `to` was left.
extern "C" void simt_switch_stack(void** from, void* to);
__asm__(R"(
	.text
	.globl	simt_switch_stack
	.hidden	simt_switch_stack
	.type	simt_switch_stack, @function
simt_switch_stack:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	.cfi_adjust_cfa_offset -8
	popq	%r14
	.cfi_adjust_cfa_offset -8
	popq	%r13
	.cfi_adjust_cfa_offset -8
	popq	%r12
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rcx
	jmp	*%rcx
	.cfi_endproc
	.size	simt_switch_stack, .-simt_switch_stack
)");
#else
// _longjmp without the check that _FORTIFY_SOURCE adds: it refuses to switch between stacks.
extern "C" [[noreturn]] void simt_longjmp(__jmp_buf_tag* to, int value) __asm__("_longjmp");
#endif

namespace machine {

namespace {

void* map_pages(void* at, std::size_t bytes, int protection, int more_flags) {
  void* const memory =
      mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The reserved addresses.
class StackRange {
 public:
  void reserve(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (begin_ != nullptr) return;
    begin_ = static_cast<char*>(map_pages(nullptr, bytes, PROT_NONE, 0));
    bytes_ = begin_ != nullptr ? bytes : 0;
  }
  // Null if there is no room.
  char* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    char* place = begin_;
    for (const auto& [taken, size] : taken_) {
      if (static_cast<std::size_t>(taken - place) >= bytes) break;
      place = taken + size;
    }
    if (bytes > bytes_ - (place - begin_)) return nullptr;
    if (mprotect(place, bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
    taken_[place] = bytes;
    return place;
  }
  // Returns whether the stack came from here. Its memory is released.
  bool give_back(char* place) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(place);
    if (found == taken_.end()) return false;
    map_pages(place, found->second, PROT_NONE, MAP_FIXED);
    taken_.erase(found);
    return true;
  }

 private:
  std::mutex mutex_;
  char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::map<char*, std::size_t> taken_;  // bytes
};

// Never destroyed, because threads may still give back stacks when the program ends.
StackRange& stack_range() {
  static StackRange& range = *new StackRange;
  return range;
}

}  // namespace

void reserve_stack_addresses(std::size_t bytes) {
  stack_range().reserve(bytes);
}

void Stacks::reserve(std::size_t count) {
  if (count <= count_) return;
  release();
  const std::size_t bytes = count * kStackBytes;
  memory_ = stack_range().take(bytes);
  if (memory_ == nullptr) {
    memory_ = static_cast<char*>(map_pages(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_STACK));
  }
  if (memory_ == nullptr) {
    throw model::Refusal("not enough memory for the stacks of one block's threads");
  }
  count_ = count;
}

void Stacks::release() {
  if (memory_ != nullptr && !stack_range().give_back(memory_)) munmap(memory_, bytes());
  memory_ = nullptr;
  count_ = 0;
}

#if defined(__x86_64__)

void Fiber::resume(Context& resumer, std::span<char> stack, void (*main)()) {
  if (!started_) {
    started_ = true;
    // The stack that simt_switch_stack reads: six registers, 0 for the frame pointer, and the
    // address to continue at. `main` starts as if called, without a caller.
    const auto top = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) / 16 * 16;
    auto** const words = reinterpret_cast<void**>(top) - 8;
    std::fill_n(words, 8, nullptr);
    words[6] = reinterpret_cast<void*>(main);
    paused_.stack = words;
  }
  simt_switch_stack(&resumer.stack, paused_.stack);
}

void Fiber::pause(Context& resumer) {
  simt_switch_stack(&paused_.stack, resumer.stack);
}

#else

void Fiber::resume(Context& resumer, std::span<char> stack, void (*main)()) {
  if (_setjmp(resumer.registers) != 0) return;
  if (started_) simt_longjmp(paused_.registers, 1);
  started_ = true;
  ucontext_t start;
  getcontext(&start);
  start.uc_stack.ss_sp = stack.data();
  start.uc_stack.ss_size = stack.size();
  start.uc_link = nullptr;
  makecontext(&start, main, 0);
  setcontext(&start);
}

void Fiber::pause(Context& resumer) {
  if (_setjmp(paused_.registers) == 0) simt_longjmp(resumer.registers, 1);
}

#endif

__thread Worker* running_worker;
__thread bool makes_own_access;

void Worker::prepare(
    model::WarpGeometry geometry, Extent grid, Extent block, void (*body)(void*), void* context,
    KernelMemory memory) {
  geometry_ = geometry;
  grid_ = grid;
  block_ = block;
  count_ = static_cast<int>(block.volume());
  body_ = body;
  context_ = context;
  memory_ = std::move(memory);
  found_operands_ = {};
  handler_stack_.provide();
  gridDim = {grid.x, grid.y, grid.z};
  blockDim = {block.x, block.y, block.z};
  warpSize = geometry.lanes;
  if (threads_.size() < static_cast<std::size_t>(count_)) {
    threads_.clear();
    stacks_.reserve(count_);
    threads_ = std::vector<Thread>(count_);
    fibers_ = std::vector<Fiber>(count_);
  }
  for (int i = 0; i < count_; ++i) threads_[i].index = position(i, block);
  memory_.stacks = {reinterpret_cast<std::uintptr_t>(stacks_.of(0).data()), stacks_.bytes()};
}

void Worker::run_body() {
  while (true) {
    Worker& worker = *running_worker;
    worker.body_(worker.context_);
    // Copies that were not waited for arrive at the end.
    Thread& thread = *worker.running_;
    if (!thread.copies.is_idle()) {
      thread.copies.commit();
      thread.copies.wait(0, finish);
    }
    if (!thread.stores.is_idle()) end_bulk_stores(thread);
    worker.pause(State::kDone);
  }
}

// An observer sees each thread on a stack of its own. Without one, threads that do not wait for
// others run on the same stack, one after the other, which then stays in the cache.
void Worker::take_fiber(Thread& thread) {
  if (observer_ != nullptr) {
    thread.fiber = static_cast<int>(&thread - threads_.data());
  } else {
    thread.fiber = idle_fibers_.back();
    idle_fibers_.pop_back();
  }
}

void Worker::resume(Thread& thread) {
  if (thread.fiber == Thread::kNoFiber) take_fiber(thread);
  const std::span<char> stack = stacks_.of(thread.fiber);
  threadIdx = thread.index;
  running_ = &thread;
  running_worker = this;
  if (observer_ != nullptr) observer_->resume(thread.fiber, stack);
  fibers_[thread.fiber].resume(scheduler_, stack, run_body);
  if (thread.state != State::kDone) return;
  if (observer_ == nullptr) idle_fibers_.push_back(thread.fiber);
  thread.fiber = Thread::kNoFiber;
}

void Worker::pause(State state) {
  Thread& thread = *std::exchange(running_, nullptr);
  running_worker = nullptr;
  thread.state = state;
  fibers_[thread.fiber].pause(scheduler_);
}

std::uint64_t Worker::exchange(const Collective& collective) {
  Thread& thread = *running_;
  thread.collective = collective;
  pause(State::kInCollective);
  return thread.received;
}

void Worker::fault(const std::string& what, const void* place) {
  fault_ = {what, place};
  pause(State::kFaulty);
  __builtin_unreachable();
}

void Worker::crash(std::optional<std::uintptr_t> address, std::uintptr_t instruction) {
  crash_ = {address, instruction};
  pause(State::kAstray);
  __builtin_unreachable();
}

// Discards the threads' pending actions, and the copies that they had issued.
void Worker::forget_threads() {
  for (Fiber& fiber : fibers_) fiber.forget();
  for (Thread& thread : threads_) {
    thread.fiber = Thread::kNoFiber;
    thread.copies = {};
    thread.wgmma = {};
    thread.stores = {};
    thread.place_in_ptx = nullptr;
  }
}

void Worker::abandon(std::optional<model::Hazard> hazard) {
  forget_threads();
  throw Abandoned{std::move(hazard)};
}

model::Hazard Worker::crash_of(const Thread& thread) const {
  if (never_comes_) return *never_comes_;
  const auto place = place_of_code(reinterpret_cast<const void*>(crash_.instruction));
  model::Hazard::Actor actor{&thread - threads_.data(), 0, false, {place}};
  if (!crash_.address) {
    return {model::HazardKind::misaligned, "", 0, block_index_, std::move(actor), {}};
  }
  return out_of_bounds(memory_.arrays, *crash_.address, 0, block_index_, std::move(actor));
}

void Worker::throw_fault(const Thread& thread, const std::string& what, const void* place) {
  if (observer_ != nullptr) observer_->stop();
  forget_threads();
  throw KernelFault(
      std::string(kernel_name()) + ", block " + text_of(blockIdx) + ", thread " +
          text_of(thread.index) + ": " + what,
      place);
}

void Worker::wait_for_grid(unsigned barrier, const void* place) {
  grid_barriers_ = barrier + 1;
#pragma omp critical(left_grid)
  if (const GridBarrier::Left& left = grid_barrier.left; left.barriers <= barrier) {
    never_comes_ = {model::HazardKind::grid_divergence, "", 0, block_index_, {}, {}};
    never_comes_->first = {running_ - threads_.data(), 0, false, {place_of_code(place)}};
    never_comes_->second = {0, 0, false, left.places};
    never_comes_->other_block = left.block;
  }
  if (never_comes_) crash({}, 0);
}

void Worker::leave_grid() {
#pragma omp critical(left_grid)
  if (GridBarrier::Left& left = grid_barrier.left; grid_barriers_ < left.barriers) {
    left = {grid_barriers_, block_index_, {}};
    if (observer_ != nullptr) left.places = observer_->last_places();
  }
}

void Worker::begin_block(std::int64_t block) {
  block_index_ = block;
  grid_barriers_ = 0;
  never_comes_.reset();
  async_.begin_block();
  idle_fibers_.resize(count_);
  std::iota(idle_fibers_.rbegin(), idle_fibers_.rend(), 0);
  for (int i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    thread.state = State::kReady;
    thread.times_given_up = 0;
    if (!thread.wgmma.is_idle()) thread.wgmma = {};
    if (!thread.stores.is_idle()) thread.stores = {};
  }
  if (observer_ != nullptr) observer_->begin_block(block, count_);
}

// Not called while a thread waits for something that may never come: that is an endless loop, with
// a place.
void Worker::cut_if_late() {
  if (observer_ == nullptr || !cut_after_ || used_s() < *cut_after_) return;
  const auto is_done = [](const Thread& thread) { return thread.state == State::kDone; };
  if (std::all_of(threads_.begin(), threads_.begin() + count_, is_done)) return;
  observer_->cut_block();
  abandon({});
}

bool Worker::go_on() {
  // A warp may wait for one that waits for a third, and so on.
  const int warps = geometry_.warps_of(count_);
  const int most_rounds = warps + 1;
  blockIdx = position(block_index_, grid_);
  if (observer_ != nullptr) observer_->go_on();
  for (int rounds = 0; rounds < most_rounds;) {
    bool all_wait = true;
    for (int warp = 0; warp < warps; ++warp) all_wait &= run_warp(warp);
    if (release_from_async_waits()) {
      rounds = 0;
    } else if (!all_wait) {
      ++rounds;
    } else if (make_room()) {
      rounds = 0;
    } else if (const Thread* stuck = in_async_wait()) {
      if (!give_up_waits()) throw_deadlock(*stuck);
    } else if (come_to_barrier()) {
      rounds = 0;
      cut_if_late();
    } else {
      if (blocks_may_wait) leave_grid();
      if (observer_ != nullptr) observer_->end_block();
      return true;
    }
  }
  return false;
}

// Whether all threads are at a barrier. Threads that have left the kernel count as arrived, as on
// the GPU; the observer may object.
bool Worker::come_to_barrier() {
  vote_ = {};
  for (int i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    has_left_[i] = thread.state == State::kDone;
    if (thread.state != State::kAtBarrier) continue;
    thread.state = State::kReady;
    vote_.threads += 1;
    vote_.votes += thread.vote;
  }
  if (vote_.threads == 0) return false;
  if (observer_ != nullptr &&
      !observer_->barrier({has_left_.data(), static_cast<std::size_t>(count_)})) {
    abandon({});
  }
  return true;
}

// Lets the threads continue whose phases are complete, or whose warpgroups have met. Returns
// whether there are any.
bool Worker::release_from_async_waits() {
  bool any = false;
  for (int i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    if (thread.state == State::kInWarpgroup && i % kWarpgroupThreads == 0) {
      any |= release_warpgroup({&thread, kWarpgroupThreads});
    }
    if (thread.state != State::kAtPhase) continue;
    if (!thread.wait.barrier->may_pass(thread.wait.parity)) continue;
    thread.state = State::kReady;
    any = true;
  }
  if (any) {
    for (int i = 0; i < count_; ++i) threads_[i].times_given_up = 0;
  }
  return any;
}

// A lane may run far ahead of others of its warp, which wait for a phase that it completes only
// later. Then its actions so far are merged without them. Returns whether any lane can continue.
bool Worker::make_room() {
  bool any = false;
  for (int warp = 0; warp < geometry_.warps_of(count_); ++warp) {
    const int first = geometry_.thread_of(warp, 0);
    std::uint32_t without_room = 0;
    for (int l = 0; l < geometry_.lanes && first + l < count_; ++l) {
      without_room |= std::uint32_t{threads_[first + l].state == State::kWaitsForRoom} << l;
    }
    if (without_room == 0) continue;
    if (!observer_->fold(warp, without_room)) abandon({});
    model::for_each_lane(without_room, [&](int l) { any |= observer_->has_room(first + l); });
  }
  return any;
}

// Lets the threads continue that only tried to wait. A thread that tries repeatedly waits for
// something that will not come. Returns whether there are any others.
bool Worker::give_up_waits() {
  constexpr int kMostTimes = 8;
  bool any = false;
  for (int i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    if (thread.state != State::kAtPhase || !thread.may_give_up) continue;
    if (++thread.times_given_up > kMostTimes) continue;
    thread.state = State::kReady;
    any = true;
  }
  return any;
}

bool Worker::release_warpgroup(std::span<Thread> threads) {
  const AsyncWait& first = threads[0].wait;
  for (const Thread& thread : threads) {
    const bool meets = thread.state == State::kInWarpgroup &&
                       thread.wait.together == first.together && thread.wait.value == first.value;
    if (!meets) return false;
  }
  if (first.together == AsyncWait::Together::wgmma) {
    const auto wrong = complete_wgmma(threads, first.value, observer_ != nullptr);
    if (wrong) throw_fault(*wrong->thread, wrong->what, wrong->place);
  }
  for (Thread& thread : threads) thread.state = State::kReady;
  return true;
}

const Thread* Worker::in_async_wait() const {
  const auto end = threads_.begin() + count_;
  const auto found = std::find_if(threads_.begin(), end, [](const Thread& thread) {
    return thread.state == State::kAtPhase || thread.state == State::kInWarpgroup;
  });
  return found == end ? nullptr : &*found;
}

namespace {

// "with parity 0 for empty (byte 8)"
std::string phase_of(const AsyncWait& wait, std::span<const KernelArray> arrays) {
  const std::string phase = "with parity " + std::to_string(wait.parity);
  const auto address = reinterpret_cast<std::uintptr_t>(wait.barrier->shared);
  const KernelArray* const array = array_with(arrays, address);
  if (array == nullptr || !array->shared) return phase;
  return phase + " for " + array->name + " (byte " + std::to_string(address - array->begin) + ")";
}

std::string missing_for(const AsyncWait& wait) {
  const Mbarrier& barrier = wait.barrier->state;
  return missing_in(barrier) + " in phase " + std::to_string(barrier.phase());
}

}  // namespace

void Worker::throw_deadlock(const Thread& thread) {
  if (observer_ != nullptr && observer_->found_hazard()) {
    observer_->stop();
    abandon({});
  }
  const AsyncWait& wait = thread.wait;
  const std::string others = ", and no other thread of the block can continue";
  if (thread.state == State::kInWarpgroup) {
    const char* const call =
        wait.together == AsyncWait::Together::wgmma ? "wgmma_wait_group" : "setmaxnreg";
    throw_fault(
        thread,
        std::string("it waits at ") + call +
            " for the other threads of its warpgroup, which do not come to the same call" + others,
        wait.place);
  }
  const std::string which =
      wait.barrier->id >= 0
          ? "bar_sync(" + std::to_string(wait.barrier->id) + ", ...)"
          : "mbarrier_wait (or wait() of a cuda::barrier) " + phase_of(wait, memory_.arrays);
  throw_fault(
      thread, "it waits at " + which + " forever: " + missing_for(wait) + others + other_wait(wait),
      wait.place);
}

std::string Worker::other_wait(const AsyncWait& first) const {
  for (int i = 0; i < count_; ++i) {
    const AsyncWait& wait = threads_[i].wait;
    if (threads_[i].state != State::kAtPhase || wait.barrier->id >= 0) continue;
    if (wait.barrier == first.barrier) continue;
    return ". Thread " + text_of(threads_[i].index) + " waits " + phase_of(wait, memory_.arrays) +
           ": " + missing_for(wait);
  }
  return "";
}

bool Worker::wait_for_phase(
    BlockBarrier& barrier, unsigned parity, const void* place, bool may_give_up) {
  Thread& thread = *running_;
  thread.wait.barrier = &barrier;
  thread.wait.parity = parity;
  thread.wait.place = place;
  thread.may_give_up = may_give_up;
  if (!barrier.may_pass(parity)) pause(State::kAtPhase);
  return !may_give_up || barrier.may_pass(parity);  // by now the next phase may be complete, too
}

void Worker::meet_warpgroup(AsyncWait::Together together, int value, const void* place) {
  const auto thread = static_cast<int>(running_ - threads_.data());
  if (geometry_.lanes != model::kWarpSize) {
    fault("it uses a warpgroup, which has four warps of 32 threads", place);
  }
  if (thread / kWarpgroupThreads * kWarpgroupThreads + kWarpgroupThreads > count_) {
    fault("its warpgroup has fewer than 128 threads", place);
  }
  running_->wait = {nullptr, 0, together, value, place};
  pause(State::kInWarpgroup);
}

std::span<const char> Worker::stack_from(const void* frame) const {
  const std::span<char> stack = stacks_.of(running_->fiber);
  const char* const end = stack.data() + stack.size();
  return {static_cast<const char*>(frame), end};
}

// Runs each lane that can run until it waits. Returns the lane with a failed access, if any; the
// lanes after it do not run.
const Thread* Worker::run_lanes(std::span<Thread> lanes, bool& any_ran) {
  const auto may_run = [&](const Thread& thread) {
    return thread.state == State::kReady || thread.state == State::kYields ||
           (thread.state == State::kWaitsForRoom &&
            observer_->has_room(static_cast<int>(&thread - threads_.data())));
  };
  const auto in_step = [](const Thread& thread) { return thread.state == State::kInStep; };
  bool first_round = true;
  do {
    for (Thread& thread : lanes) {
      if (first_round ? !may_run(thread) && !in_step(thread) : !in_step(thread)) continue;
      resume(thread);
      any_ran = true;
      if (thread.state == State::kFaulty) throw_fault(thread, fault_.what, fault_.place);
      if (thread.state == State::kAstray) return &thread;
    }
    first_round = false;
  } while (std::any_of(lanes.begin(), lanes.end(), in_step));
  return nullptr;
}

// Runs a warp until every lane waits at a barrier, for a phase of one or for its warpgroup, or is
// done. Returns false if a lane yields.
bool Worker::run_warp(int warp) {
  const int first = geometry_.thread_of(warp, 0);
  const std::span<Thread> lanes(&threads_[first], std::min<int>(geometry_.lanes, count_ - first));
  const auto in_state = [&](State state) {
    std::uint32_t found = 0;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      found |= std::uint32_t{lanes[l].state == state} << l;
    }
    return found;
  };
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << lanes.size()) - 1);
  const std::uint32_t began = observer_ != nullptr ? all & ~in_state(State::kDone) : all;
  const auto has_come = [](const Thread& thread) {
    return thread.state == State::kAtBarrier || thread.state == State::kDone;
  };
  while (true) {
    bool any_ran = false;
    const Thread* const astray = run_lanes(lanes, any_ran);
    if (observer_ == nullptr && std::all_of(lanes.begin(), lanes.end(), has_come)) return true;
    const std::uint32_t without_room = in_state(State::kWaitsForRoom);
    const std::uint32_t yielding = in_state(State::kYields);
    const std::uint32_t waiting = in_state(State::kInCollective);
    const std::uint32_t blocked = in_state(State::kAtPhase) | in_state(State::kInWarpgroup);
    if (observer_ != nullptr) {
      // If all lanes wait for each other, the warp is together again. If only some do, the others
      // may be ahead of them. An abandoned block produces nothing more.
      const std::uint32_t running =
          without_room | yielding | blocked | (waiting == began ? 0 : waiting);
      if (!observer_->fold(warp, astray != nullptr ? 0 : running)) abandon({});
    }
    if (astray != nullptr) {
      const model::Hazard hazard = crash_of(*astray);
      if (observer_ != nullptr) observer_->crash(hazard);
      abandon(hazard);
    }
    if (yielding == 0) cut_if_late();
    const std::uint32_t alive = began & ~in_state(State::kDone);
    if (waiting != 0 && release_collectives(lanes, waiting, alive, (yielding | blocked) == 0))
      continue;
    if (yielding != 0) return false;
    if (without_room != 0 && (any_ran || (waiting == 0 && blocked == 0))) continue;
    if (waiting == 0 || blocked != 0) return true;
    const MissingLane missing = missing_lane(lanes, alive);
    throw_fault(*missing.waits, missing.what, nullptr);
  }
}

void tell(const Action& action, const void* place) {
  if (BlockObserver* observer = running_worker->observer()) observer->act(action, place);
}

void fault(const std::string& what, const void* place) {
  running_worker->fault(what, place);
}

void Worker::read_atomically(const void* address) {
  constexpr int kManyTimes = 32;
  Thread& thread = *running_;
  if (thread.last_read != address) thread.times_read = 0;
  thread.last_read = address;
  if (++thread.times_read < kManyTimes) return;
  thread.times_read = 0;
  at_end_of_turn();
  pause(State::kYields);
}

void will_read_atomically(const void* address) {
  if (running_worker != nullptr) running_worker->read_atomically(address);
}

std::atomic<bool> came_to_volatile = false;

void keep_step() {
  if (running_worker != nullptr) running_worker->keep_step();
}

void wait_for_room() {
  at_end_of_turn();
  running_worker->pause(State::kWaitsForRoom);
}

void go_astray() {
  running_worker->crash(0, 0);
}

namespace {

// One per thread of the operating system. The first keeps its stacks from launch to launch.
thread_local std::vector<std::unique_ptr<Resident>> all;

template <class Visit>
void for_each_shared(const KernelMemory& memory, Visit visit) {
  for (const KernelArray& array : memory.arrays) {
    if (array.shared) visit(reinterpret_cast<char*>(array.begin), array.bytes);
  }
}

}  // namespace

Resident* Residents::take() {
  if (!free_.empty()) {
    Resident* const resident = free_.back();
    free_.pop_back();
    return resident;
  }
  if (prepared_.size() == all.size()) all.push_back(std::make_unique<Resident>());
  Resident* const resident = all[prepared_.size()].get();
  source_.prepare(*resident);
  prepared_.push_back(resident);
  return resident;
}

// All blocks use the same addresses for shared memory.
void Residents::bring_in(Resident& resident) {
  if (in_shared_memory_ == &resident) return;
  if (in_shared_memory_ != nullptr) {
    std::vector<char>& kept = in_shared_memory_->shared;
    kept.clear();
    for_each_shared(in_shared_memory_->worker.memory(), [&](const char* bytes, std::size_t count) {
      kept.insert(kept.end(), bytes, bytes + count);
    });
  }
  std::size_t done = 0;
  for_each_shared(resident.worker.memory(), [&](char* bytes, std::size_t count) {
    if (!resident.shared.empty()) std::memcpy(bytes, resident.shared.data() + done, count);
    done += count;
  });
  resident.shared.clear();
  in_shared_memory_ = &resident;
}

// Whether the block has ended or been abandoned.
bool Residents::go_on(Resident& resident) {
  bring_in(resident);
  const std::int64_t block = resident.worker.block();
  runs_block(number_, block);
  bool has_ended = true;
  try {
    has_ended = resident.worker.go_on();
    if (has_ended) source_.ended();
  } catch (const Abandoned& abandoned) {
    source_.abandoned(abandoned);
  } catch (...) {
    source_.failed(block);
  }
  runs_block(number_, -1);
  if (has_ended) {
    in_shared_memory_ = nullptr;
    free_.push_back(&resident);
  }
  return has_ended;
}

bool Residents::begin_next() {
  Resident* resident = nullptr;
  try {
    resident = take();
  } catch (const model::Refusal&) {
    if (waiting_.empty()) throw;
    return false;  // not enough memory for another block
  }
  const std::optional<std::int64_t> block = source_.next(!waiting_.empty());
  if (!block) {
    free_.push_back(resident);
    return false;
  }
  resident->worker.begin_block(*block);
  if (!go_on(*resident)) waiting_.push_back(resident);
  return true;
}

void Residents::run() {
  constexpr int kBegunInARow = 8;
  try {
    int begun = 0;
    while (!source_.is_over()) {
      const unsigned most = waits_for_all() ? kMostTogether : kMostResidents;
      const bool may_begin = waiting_.size() < most && begun < kBegunInARow;
      if (may_begin && begin_next()) {
        ++begun;
        continue;
      }
      begun = 0;
      if (waiting_.empty() && !may_begin) continue;
      if (waiting_.empty()) break;
      const std::size_t count = waiting_.size();
      std::erase_if(
          waiting_, [&](Resident* resident) { return !source_.is_over() && go_on(*resident); });
      if (waiting_.size() == count) std::this_thread::yield();
    }
  } catch (...) {
    source_.failed(-1);
  }
  for (Resident* resident : waiting_) resident->worker.forget_threads();
  for (Resident* resident : prepared_) {
    resident->worker.set_observer(nullptr);
    if (resident->observer != nullptr) source_.observed(*resident->observer);
    resident->observer.reset();
  }
  if (all.size() > 1) all.resize(1);
}

}  // namespace machine

simt::BlockVote simt::block_barrier(bool vote) {
  machine::Worker& worker = *machine::running_worker;
  worker.running().vote = vote;
  worker.pause(machine::State::kAtBarrier);
  return worker.vote();
}
