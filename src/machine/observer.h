// Who wants to know what a kernel does on the CPU, as far as the machine can tell: which lane runs,
// where lanes wait, what is copied. (The accesses themselves are announced by the compiler.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "machine/grid.h"
#include "machine/kernel_memory.h"
#include "model/counts.h"

namespace machine {

// Observes the blocks that one thread of the operating system runs, one after the other.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;

  virtual void begin_block(std::int64_t block, int threads) = 0;
  virtual void end_block() = 0;
  // Instead of end_block(), where an access was stopped by the system.
  virtual void crash(const model::Hazard& hazard) = 0;

  // Lane `lane` of a warp runs from now on, on a fiber with that stack; where the lane called
  // wait_for_room(), it first has to have some.
  virtual void resume(int lane, std::span<const char> stack) = 0;
  virtual bool has_room(int lane) const = 0;
  // No lane runs: the block ends in a fault.
  virtual void stop() = 0;

  // Every lane of `warp` has paused. Those in `running` have more to do before the next barrier of
  // the block, so what they did may be behind what others are yet to do. False: the block is to be
  // abandoned.
  virtual bool fold(int warp, std::uint32_t running) = 0;

  // All threads of the block are at a barrier, but for those that have left the kernel. False as
  // above.
  virtual bool barrier(std::span<const bool> left) = 0;

  // Called on the fiber of the lane that runs, before it does so, at `place`: a return address in
  // the kernel. `global` is null where a copy only fills with zeros.
  virtual void async_copy(
      const void* shared, const void* global, std::size_t bytes, const void* place) = 0;
  virtual void async_commit(const void* place) = 0;
  virtual void async_wait(int groups_in_flight, const void* place) = 0;
  virtual void warp_barrier(const void* place) = 0;
  virtual void atomic(const void* pointer, std::size_t bytes, const void* place) = 0;

  // Everything counted so far.
  virtual model::Counts result() const = 0;
};

// Observes all launches of a host function.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  virtual void begin_launch(const Launch& launch) = 0;
  // How many threads of the operating system may run blocks side by side.
  virtual int most_workers() const = 0;
  // Called on each of them. What `memory` says holds until the launch is over.
  virtual std::unique_ptr<BlockObserver> observe_blocks(const KernelMemory& memory) = 0;
  // Not called where the launch ended in a fault. `whole`: every block of the grid was run.
  virtual void end_launch(bool whole) = 0;
};

// As run(), with the matrices that the kernels may touch; returns what the launches counted.
model::Counts run_observed(
    const Machine& machine, std::span<const GlobalArray> arrays, LaunchObserver& observer,
    const std::function<void()>& host);

// For the observer of a block, on the fiber of the lane that runs: the warp's other lanes run, and
// the warp is folded, until has_room() again.
void wait_for_room();

// The same where what the lane is about to do must not happen: its block is abandoned.
[[noreturn]] void go_astray();

}  // namespace machine
