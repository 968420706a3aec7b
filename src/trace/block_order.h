// The order between the blocks of a launch that wait for each other.
//
// Only fences and atomics order two blocks. What a thread did before a __threadfence() is visible
// to a thread that reads, by an atomic or through a volatile pointer, what the first thread stored
// after the fence. The actions of a block are distinguished only by its epochs (from barrier to
// barrier). So there are no false alarms, but a fence at the wrong place within an epoch is not
// noticed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace trace {

// All functions may be called from the threads that run blocks in parallel.
class BlockOrder {
 public:
  // A thread of `block` will store atomically to `address`; its last fence was in `epoch`.
  void release(std::int64_t block, std::uint32_t epoch, std::uint64_t address);
  // A thread of `block` has read from `address` in `epoch`.
  void acquire(std::int64_t block, std::uint32_t epoch, std::uint64_t address);

  // Whether there was any release.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

  // After the launch: whether everything that `block` did up to `last_epoch` comes before
  // everything that `other` does from `first_epoch` on.
  bool is_before(
      std::int64_t block, std::uint32_t last_epoch, std::int64_t other,
      std::uint32_t first_epoch) const;

 private:
  using Known = std::unordered_map<std::int64_t, std::uint32_t>;  // block to the last epoch known
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
