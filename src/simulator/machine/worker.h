// Runs blocks, one after the other, on one thread of the operating system. A block's threads are
// fibers: code with its own stack that runs until it pauses and can be resumed. A warp's lanes run
// one after the other, each until it must wait.
#pragma once

#include <setjmp.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/warp_access.h"
#include "simulator/cuda/runtime.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/thread.h"

namespace machine {

// The distance between the stacks of neighbouring fibers: 512 KB, the most local memory that a
// thread of a GPU has (CUDA C++ Programming Guide, technical specifications per compute
// capability), and what the tracer needs. It is a whole number of pages, so that one stack can be
// protected from the others, and an odd one, so that they do not fall into the same cache sets.
inline constexpr std::size_t kStackBytes = 524 * 1024;

// Reserves addresses for the stacks of later blocks. Called before a child's limits, which count
// addresses; only what a thread's functions touch becomes memory. Further stacks are mapped as they
// are needed.
void reserve_stack_addresses(std::size_t bytes);

// The stacks of a block's fibers, in one mapping, because a guard page for each would exhaust
// vm.max_map_count.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() { release(); }

  // Makes room for `count` fibers, none of which may be running. Throws a Refusal.
  void reserve(std::size_t count);
  // The tops have different offsets in their last page, so that the same variable of neighbouring
  // fibers does not fall into the same cache set.
  std::span<char> of(std::size_t fiber) const {
    return {memory_ + fiber * kStackBytes, kStackBytes - fiber * 17 % 64 * 64};
  }
  std::size_t bytes() const { return count_ * kStackBytes; }

 private:
  void release();
  char* memory_ = nullptr;
  std::size_t count_ = 0;
};

// Where code paused. On x86-64 the registers are on its stack, and a switch takes a few
// instructions; the C library's _longjmp takes five times as long.
struct Context {
#if defined(__x86_64__)
  void* stack = nullptr;
#else
  jmp_buf registers;
#endif
};

class Fiber {
 public:
  // Resumes the fiber, or starts `main`, which never returns, on `stack`. Returns when the fiber
  // pauses.
  void resume(Context& resumer, std::span<char> stack, void (*main)());
  // Call this on the fiber: returns to the caller of resume().
  void pause(Context& resumer);
  // The next resume() starts from the beginning.
  void forget() { started_ = false; }

 private:
  Context paused_;
  bool started_ = false;
};

class BlockObserver;

// A block cannot continue, because of a hazard that its observer found, or of this one.
struct Abandoned {
  std::optional<model::Hazard> hazard;
};

class Worker {
 public:
  // The code of a launch's threads, and the memory that they may access besides their stacks.
  void prepare(
      model::WarpGeometry geometry, Extent grid, Extent block, void (*body)(void*), void* context,
      KernelMemory memory);
  const KernelMemory& memory() const { return memory_; }
  // Sets the observer from now on; null: none.
  void set_observer(BlockObserver* observer) { observer_ = observer; }
  BlockObserver* observer() const { return observer_; }
  // If there is an observer, blocks are cut short once the process has used this much time.
  void set_cut_after(std::optional<double> used_s) { cut_after_ = used_s; }

  // Begins a block. go_on() runs it to its end, or until all lanes that can run seem to wait for
  // another block. Returns whether it has ended. Throws KernelFault and Abandoned.
  void begin_block(std::int64_t block);
  bool go_on();
  // A block in progress will not end.
  void forget_threads();
  std::int64_t block() const { return block_index_; }

  // These concern the running thread and are called on its fiber.
  Thread& running() { return *running_; }
  const model::WarpGeometry& geometry() const { return geometry_; }
  int block_threads() const { return count_; }
  int lane() const { return geometry_.lane_of(static_cast<int>(running_ - threads_.data())); }
  void pause(State state);  // back to go_on, until the thread's next turn
  // The thread will read this address by an atomic or volatile access. If it does so repeatedly, it
  // waits for another thread, which then gets its turn.
  void read_atomically(const void* address);
  // Lanes of a warp that are together go on together from here.
  void keep_step() { pause(State::kInStep); }
  std::uint64_t exchange(const Collective& collective);
  AsyncProxy& async() { return async_; }
  // The last operands of wgmma in this launch, by their addresses.
  std::span<FoundOperand> found_operands() { return found_operands_; }
  // Until that phase is complete; or, if it `may_give_up`, until no thread of the block could
  // continue otherwise. Returns whether the phase is complete.
  bool wait_for_phase(
      BlockBarrier& barrier, unsigned parity, const void* place, bool may_give_up = false);
  // Until all threads of the warpgroup have called this with the same arguments.
  void meet_warpgroup(AsyncWait::Together together, int value, const void* place);
  // The part of the running thread's stack from `frame` on.
  std::span<const char> stack_from(const void* frame) const;
  [[noreturn]] void fault(const std::string& what, const void* place);
  // May be called from a signal handler: the thread accessed `address`, which does not exist. It is
  // empty for a misaligned access, whose address is unknown.
  [[noreturn]] void crash(std::optional<std::uintptr_t> address, std::uintptr_t instruction);
  // The thread waits, for its block, at a barrier of the grid. If a block has left that does not
  // come there, this one is abandoned.
  void wait_for_grid(unsigned barrier, const void* place);
  simt::BlockVote vote() const { return vote_; }  // of the last barrier that was left

 private:
  struct Fault {
    std::string what;
    const void* place = nullptr;
  };
  struct Crash {
    std::optional<std::uintptr_t> address;
    std::uintptr_t instruction = 0;
  };

  static void run_body();
  void take_fiber(Thread& thread);
  void resume(Thread& thread);
  bool run_warp(int warp);
  const Thread* run_lanes(std::span<Thread> lanes, bool& any_ran);
  void cut_if_late();
  bool come_to_barrier();
  bool release_from_async_waits();
  bool release_warpgroup(std::span<Thread> threads);
  const Thread* in_async_wait() const;
  void leave_grid();
  bool make_room();
  bool give_up_waits();
  // A block that waits forever because of a hazard is abandoned instead.
  [[noreturn]] void throw_deadlock(const Thread& thread);
  // ". Thread (64, 0, 0) waits with parity 0 for empty (byte 8): 2 of 2 arrivals are missing ...":
  // the first thread that waits for another mbarrier; empty if there is none.
  std::string other_wait(const AsyncWait& first) const;
  [[noreturn]] void abandon(std::optional<model::Hazard> hazard);
  [[noreturn]] void throw_fault(const Thread& thread, const std::string& what, const void* place);
  model::Hazard crash_of(const Thread& thread) const;

  std::vector<Thread> threads_;  // as many as the largest block so far
  AsyncProxy async_;
  std::array<FoundOperand, 64> found_operands_;
  Stacks stacks_;
  std::vector<Fiber> fibers_;     // one for each stack
  std::vector<int> idle_fibers_;  // the last one that became idle is at the end
  HandlerStack handler_stack_;
  Context scheduler_;
  Thread* running_ = nullptr;
  BlockObserver* observer_ = nullptr;
  std::optional<double> cut_after_;

  model::WarpGeometry geometry_{};
  Extent grid_{}, block_{};
  int count_ = 0;  // number of threads of a block
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  KernelMemory memory_{};

  std::int64_t block_index_ = 0;
  simt::BlockVote vote_{};
  std::array<bool, kMostThreadsInBlock> has_left_{};  // the kernel, called for this block's threads
  Fault fault_;
  Crash crash_;
  unsigned grid_barriers_ = 0;                // that this block has come to
  std::optional<model::Hazard> never_comes_;  // at one of them
};

// The barrier that the running thread uses at `place`; a fault if there is none.
BlockBarrier& barrier_at(const void* pointer, const void* place);

// The worker whose thread runs on this thread of the operating system; null if none does.
extern __thread Worker* running_worker;

// The place of a call by the running thread: where it returns to or, if the thread's inline PTX
// calls, of the instruction.
inline const void* place_of_call(const void* return_address) {
  const void* const in_ptx = running_worker->running().place_in_ptx;
  return in_ptx != nullptr ? in_ptx : return_address;
}

// The blocks that one thread of the operating system has begun and not finished. There is only one,
// unless it waits for another block, which must then run alternately with it.

// The most blocks that may be in progress on one thread of the operating system, and the most if
// all blocks of the launch wait for each other.
inline constexpr unsigned kMostResidents = 129, kMostTogether = 2048;

struct Resident {
  Worker worker;
  std::unique_ptr<BlockObserver> observer;
  std::vector<char> shared;  // its shared memory, while another block runs
};

// The queue that hands out blocks, for the threads that run them. Several threads may call these
// functions.
struct BlockSource {
  std::function<void(Resident&)> prepare;  // for this launch; may throw
  // `one_waits`: a block in progress on this thread waits for another one.
  std::function<std::optional<std::int64_t>(bool one_waits)> next;
  std::function<bool()> is_over;  // waiting blocks are dropped
  std::function<void()> ended;
  std::function<void(const Abandoned&)> abandoned;
  std::function<void(std::int64_t)> failed;            // call this in a catch clause
  std::function<void(const BlockObserver&)> observed;  // all blocks of that thread have run
};

// Runs blocks on this thread, which has the number `number`, until none is left.
class Residents {
 public:
  Residents(const BlockSource& source, int number) : source_(source), number_(number) {}
  void run();

 private:
  Resident* take();
  bool begin_next();
  bool go_on(Resident& resident);
  void bring_in(Resident& resident);

  const BlockSource& source_;
  const int number_;
  std::deque<Resident*> waiting_;
  std::vector<Resident*> free_, prepared_;
  Resident* in_shared_memory_ = nullptr;
};

// Threads that wait for each other through memory: fences, counters, locks and flags.

// Whether this program uses any of them: waiting.cpp, which sets this, is linked only if its
// functions are called.
inline bool blocks_may_wait = false;

// The blocks of one launch that wait for each other at a barrier of the whole grid.
struct GridBarrier {
  bool all_run = false;  // if one block waits, every block of the launch must
  unsigned came = 0;     // blocks that arrived, over all barriers
  // The blocks of one barrier meet at a word of its own, so that the observer of one that comes
  // late does not take the next barrier's arrivals for this one's.
  std::array<unsigned, 64> words{};
  // Of the blocks that have left the kernel, the one that came to the fewest barriers.
  struct Left {
    unsigned barriers = ~0u;
    std::int64_t block = -1;
    std::vector<std::uint32_t> places = {};  // its last ones, if it was observed
  } left = {};
};
extern GridBarrier grid_barrier;  // of the current launch
inline bool waits_for_all() {
  return std::atomic_ref(grid_barrier.came).load() > 0;
}

// A compare-and-swap has found the value that the running thread expected.
inline void tell_swapped(const void* address, std::size_t bytes) {
  if (running_worker == nullptr) return;
  if (BlockObserver* observer = running_worker->observer()) observer->swapped(address, bytes);
}

// Replaces the value at `address` by `change` of it, and returns the old value. Blocks run in
// parallel, so this is atomic among threads of the operating system, too.
template <class T, class Change>
T atomically(T* address, AtomicUse use, void* place, Change change) {
  if (running_worker != nullptr) {
    if (BlockObserver* observer = running_worker->observer()) {
      observer->atomic(address, sizeof(T), use, place);
    }
    running_worker->read_atomically(address);
  }
  const OwnAccess own;
  std::atomic_ref<T> value(*address);
  T old = value.load();
  while (!value.compare_exchange_weak(old, change(old))) {
  }
  return old;
}

}  // namespace machine
