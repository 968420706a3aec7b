// Runs blocks, one after the other, on one thread of the operating system: a block's threads are
// fibers, and a warp's lanes run one after the other, each until it has to wait.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/runtime.h"
#include "machine/access_errors.h"
#include "machine/fiber.h"
#include "machine/kernel_memory.h"
#include "machine/launch_limits.h"
#include "machine/thread.h"
#include "model/counts.h"

namespace machine {

class BlockObserver;

// A block cannot go on, because of a hazard that its observer knows or of this one.
struct Abandoned {
  std::optional<model::Hazard> hazard;
};

class Worker {
 public:
  // What the threads of a launch call, and what they may touch but for their stacks.
  void prepare(
      model::WarpGeometry geometry, Extent grid, Extent block, void (*body)(void*), void* context,
      KernelMemory memory);
  const KernelMemory& memory() const { return memory_; }
  // From now on; null: nobody.
  void set_observer(BlockObserver* observer) { observer_ = observer; }
  BlockObserver* observer() const { return observer_; }

  // A block begins; go_on() runs it to its end, or until all that can run seem to wait for another
  // block. Returns whether it has ended. Throws KernelFault and Abandoned.
  void begin_block(std::int64_t block);
  bool go_on();
  // A block that did not end will not.
  void forget_threads();
  std::int64_t block() const { return block_index_; }

  // Of the thread that runs, and called on its fiber.
  Thread& running() { return *running_; }
  const model::WarpGeometry& geometry() const { return geometry_; }
  int lane() const { return geometry_.lane_of(static_cast<int>(running_ - threads_.data())); }
  void pause(State state);  // back to go_on, until the thread's turn comes again
  // The thread is about to read that by an atomic or volatile access. Where it does so again and
  // again it waits for somebody else, whose turn it then is.
  void read_atomically(const void* address);
  std::uint64_t exchange(const Collective& collective);
  [[noreturn]] void fault(const std::string& what, const void* place);
  // Also from a signal handler: the thread touched `address`, which is not there; none is known
  // where the access was not aligned.
  [[noreturn]] void crash(std::optional<std::uintptr_t> address, std::uintptr_t instruction);
  simt::BlockVote vote() const { return vote_; }  // at the barrier that was left last

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
  void resume(Thread& thread);
  bool run_warp(int warp);
  const Thread* run_lanes(std::span<Thread> lanes, bool& any_ran);
  bool come_to_barrier();
  [[noreturn]] void abandon(std::optional<model::Hazard> hazard);
  [[noreturn]] void throw_fault(const Thread& thread, const std::string& what, const void* place);
  model::Hazard crash_of(const Thread& thread) const;

  std::vector<Thread> threads_;  // as many as the largest block so far has
  Stacks stacks_;
  HandlerStack handler_stack_;
  Context scheduler_;
  Thread* running_ = nullptr;
  BlockObserver* observer_ = nullptr;

  model::WarpGeometry geometry_{};
  Extent grid_{}, block_{};
  int count_ = 0;  // threads of a block
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  KernelMemory memory_{};

  std::int64_t block_index_ = 0;
  simt::BlockVote vote_{};
  std::array<bool, kMostThreadsInBlock> has_left_{};  // the kernel, of this block's threads
  Fault fault_;
  Crash crash_;
};

// Whose thread runs on this thread of the operating system; null where none does.
extern __thread Worker* running_worker;

}  // namespace machine
