// The interface to observe a kernel on the CPU: which lane runs, where lanes wait, what is copied.
// (The compiler announces the accesses themselves.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/warp_access.h"
#include "simulator/machine/copy_engine.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"

namespace machine {

// The purpose of an atomic: sums of floats, counters, or locks and flags (compare-and-swaps, and
// exchanges). Only exchanges may come before the first store.
enum class AtomicUse { kSum, kCounter, kLock, kExchange };

// What a thread does that is no access, and its messages to the asynchronous units of its block, or
// from them (cuda/hopper_instructions.h). Barriers are numbered as they are initialized, and their
// phases from 0.
struct Action {
  enum class Kind : std::uint8_t {
    commit,           // the thread's cp.async copies so far are a group
    wait_for_groups,  // of such copies, until at most `value` are in flight
    warp_barrier,     // __syncwarp with the mask `value`
    fence,            // `value`: for threads of other blocks, too
    read_only_load,   // by __ldg, of `number` bytes at `value`, before it is announced
    misuse,           // what CUDA leaves undefined; see misuse_of()
    init,             // barrier `number`, at the address `value`
    arrive,           // at `number`, in phase `value`
    arrive_copied,    // the same, when the thread's cp.async copies so far are complete
    wait,             // for `number`, whose phase `value` is complete, as are its first `copies`
    barrier_fence,    // fence_mbarrier_init
    proxy_fence,      // fence_proxy_async
    load,             // `copy`, which barrier `number` counts
    store,            // `copy`
    stores_read,      // the thread's first `value` stores have read shared memory
    multiply,         // wgmma by an operand of `number` rows that the descriptor `value` describes
    multiply_by,      // the other operand of the same wgmma, likewise
    multiplied,       // the thread's first `value` multiplications are complete
    mma               // of the warp: `number` x `depth` elements of `value` bits by `depth` x 8
  } kind;
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  int id = -1;  // of a named barrier; the HazardKind of a misuse
  std::uint32_t copies = 0;
  struct BoxCopy {
    const void* shared;
    std::size_t bytes;
    PartOfMatrix matrix;
    model::Swizzle swizzle;
    std::uint64_t phase = 0;  // of the barrier that counts it
  };
  const BoxCopy* copy = nullptr;
  int depth = 0;  // of an mma or wgmma, and how a wgmma's operand lies in shared memory
  model::Major major = model::Major::k;

  static Action misuse_of(model::HazardKind hazard, std::int64_t index, std::int64_t extent = 0) {
    return {
        Kind::misuse, static_cast<std::uint32_t>(extent), static_cast<std::uint64_t>(index),
        static_cast<int>(hazard)};
  }
};

// An access that no hook of the compiler announces.
enum class Access : std::uint8_t {
  load,
  read_only_load,  // as by __ldg
  volatile_load,   // also one that orders threads
  store,
  volatile_store
};

// Observes the blocks that one thread of the operating system runs, one after the other.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;

  virtual void begin_block(std::int64_t block, int threads) = 0;
  virtual void end_block() = 0;
  // Called instead of end_block() when there is no time for the rest of the block.
  virtual void cut_block() = 0;
  // Called instead of end_block() after the system stopped an access.
  virtual void crash(const model::Hazard& hazard) = 0;

  // The block continues after another one ran on this thread of the operating system.
  virtual void go_on() = 0;

  // That thread of the block runs from now on, on the fiber with that stack. If it called
  // wait_for_room(), it must get room first.
  virtual void resume(int thread, std::span<const char> stack) = 0;
  virtual bool has_room(int thread) = 0;
  // The running thread evaluates a launch's call until the kernel begins. What it accesses on the
  // way belongs to the host.
  virtual void outside_kernel(bool /*outside*/) {}
  // No lane can run: the block ends in a fault.
  virtual void stop() = 0;

  // Every lane of `warp` has paused. Those in `running` will do more before the next barrier of the
  // block, so their logged actions may come after what other lanes have not done yet. Returns false
  // if the block is to be abandoned.
  virtual bool fold(int warp, std::uint32_t running) = 0;

  // All threads of the block have reached a barrier, except those that have left the kernel.
  // Returns false as above.
  virtual bool barrier(std::span<const bool> left) = 0;

  // These are called on the fiber of the running lane, before it acts, at `place`: a return address
  // in the kernel. A copy that `fills` writes zeros and reads nothing; `global` is null if it is an
  // instruction that only fills.
  virtual void async_copy(
      const void* shared, const void* global, std::size_t bytes, bool fills, const void* place) = 0;
  virtual void access(const void* pointer, std::size_t bytes, Access access, const void* place) = 0;
  // The lane gives the address of a row of ldmatrix, or of stmatrix, which `stores`, for 1, 2 or 4
  // matrices, and waits for the other lanes. Null: there are fewer matrices, so this lane's row is
  // not accessed.
  virtual void matrix_row(const void* row, int matrices, bool stores, const void* place) = 0;
  virtual void act(const Action& action, const void* place) = 0;
  virtual void atomic(const void* pointer, std::size_t bytes, AtomicUse use, const void* place) = 0;
  // That atomic was a compare-and-swap, and the element had the value that the lane expected.
  virtual void swapped(const void* /*pointer*/, std::size_t /*bytes*/) {}

  // Where the block's first thread was last, as Hazard::Actor has it.
  virtual std::vector<std::uint32_t> last_places() const { return {}; }

  // Whether a hazard of the block explains why it cannot continue.
  virtual bool found_hazard() const = 0;

  // The counts so far.
  virtual model::Counts result() const = 0;
};

// Observes all launches of a host function.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  virtual void begin_launch(const RequestedLaunch& launch) = 0;
  // How many threads of the operating system may run blocks in parallel. Asked for the first block
  // of the launch, and again for the others.
  virtual int most_workers() const = 0;
  // Called on each of these threads. `memory` stays valid until the launch is over.
  virtual std::unique_ptr<BlockObserver> observe_blocks(const KernelMemory& memory) = 0;
  // Called when all blocks have run, for hazards between them.
  virtual void add_hazards_between_blocks(
      std::vector<model::Hazard>& hazards, std::span<const KernelArray> arrays) = 0;
  // Not called if the launch ended in a fault. `whole`: every block of the grid ran.
  virtual void end_launch(bool whole) = 0;
  // A launch beside those that are studied (simt::Aside) has ended.
  virtual void end_aside() {}
};

// Like run(), with the matrices that the kernels may access; returns the counts of the launches.
model::Counts run_observed(
    const Machine& machine, std::span<const GlobalArray> arrays, LaunchObserver& observer,
    const std::function<void()>& host);

// Tells the observer of the running thread's block, if it has one.
void tell(const Action& action, const void* place);

// For the observer of a block, on the fiber of the lane: lets the warp's other lanes run and folds
// the warp until has_room() is true again.
void wait_for_room();

// The same if the lane's next action must not happen: its block is abandoned.
[[noreturn]] void go_astray();

// Whether the running thread has set the scope of its next atomic or strong access to its block
// (simt::in_block). Called once for each access.
bool takes_block_scope();

// The running thread's registers to which wgmma adds (WgmmaOfThread), and what adds to one.
std::span<const char> sums_in_flight();
const void* adder_of(const void* address);

// For the hooks of volatile accesses: Worker::read_atomically.
void will_read_atomically(const void* address);

// Accesses that the machine makes for a kernel, such as those of an atomic or a completed cp.async.

extern __thread bool makes_own_access;  // signal handlers read it

struct OwnAccess {
  OwnAccess() {
    makes_own_access = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~OwnAccess() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    makes_own_access = false;
  }
  OwnAccess(const OwnAccess&) = delete;
  OwnAccess& operator=(const OwnAccess&) = delete;
};

}  // namespace machine
