// What the blocks of a launch did before what others did, where they wait for each other.
//
// Nothing orders two blocks but fences and atomics: what a thread did before a __threadfence() is
// there for whoever reads what the thread stored behind it, by an atomic or through a volatile
// pointer. What a block did is told apart by its barriers only: never a false alarm, but within one
// epoch (from barrier to barrier) a fence at the wrong place is not noticed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace trace {

// All may be called from the threads that run blocks side by side.
class BlockOrder {
 public:
  // A thread of `block` is about to store atomically at `address`; its last fence was in `epoch`.
  void release(std::int64_t block, std::uint32_t epoch, std::uint64_t address);
  // A thread of `block` has read that in `epoch`.
  void acquire(std::int64_t block, std::uint32_t epoch, std::uint64_t address);

  // Whether any was released.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

  // When the launch is over: whether what one block did up to an epoch is before what another did
  // from an epoch on.
  bool is_before(
      std::int64_t block, std::uint32_t last_epoch, std::int64_t other,
      std::uint32_t first_epoch) const;

 private:
  using Known = std::unordered_map<std::int64_t, std::uint32_t>;  // of a block, up to which epoch
  struct Learned {
    std::uint32_t in_epoch;
    Known blocks;
  };
  std::atomic<bool> used_ = false;
  std::mutex lock_;
  std::unordered_map<std::uint64_t, Known> released_;               // by address
  std::unordered_map<std::int64_t, std::vector<Learned>> learned_;  // by block, oldest first
};

}  // namespace trace
