// The order between the blocks of a launch that wait for each other.
//
// Only fences and atomics order two blocks. What comes before a __threadfence() is visible to a
// thread that reads, by an atomic or through a volatile pointer, what was stored likewise after the
// fence, and to all that comes after the read. What comes before and after it in a block, its
// ThreadOrder knows. PTX ISA, memory consistency model: fences are cumulative, so the fence may be
// another thread's if barriers order the two. We do not ask for a fence after the read, which the
// model wants and which much correct code for GPUs lacks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/thread_order.h"

namespace trace {

// How much must order two accesses.
enum class Asked {
  all,         // what CUDA asks for
  any_scope,   // all, but a fence of a block's scope counts as one of the GPU's
  any_thread,  // all, but a fence or a read counts for all threads of its block
};

// All functions may be called from the threads that run blocks in parallel, but is_before() only
// after the launch.
class BlockOrder {
 public:
  // The first `count` stores to a place that others may read.
  struct Read {
    std::uint32_t place = 0, count = 0;
  };
  // What a thread has read.
  struct Acquired {
    int thread;
    Instant at;
    Read read;
  };
  // What orders the accesses of one or more threads of a block: `knows` numbers what they have
  // acquired, or is 0.
  struct Access {
    std::int64_t block;
    Instant at;
    std::uint32_t knows;
  };
  static constexpr int kAnyThread = -1;

  // A thread of `block` will store atomically to `address`. Returns a number for this store; it is
  // the same as before if the thread has stored there in the same `state` of its block.
  std::uint32_t release(std::int64_t block, int thread, std::uint64_t state, std::uint64_t address);
  // What is before that store: after wide fences, and after any fences.
  void add(std::uint32_t release, const Fenced& wide, const Fenced& any);
  Read read(std::uint64_t address);
  // All that the threads of a block have read, and which of it each number of `knows` - 1 has.
  void end_block(
      std::int64_t block, std::vector<Acquired> acquired,
      std::vector<std::vector<std::uint32_t>> known);

  // Whether there was any release.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

  // Whether `first` comes before `second`; `thread` is the one of `first`, or kAnyThread.
  bool is_before(const Access& first, int thread, const Access& second, Asked asked) const;

 private:
  struct Release {
    std::int64_t block;
    Fenced wide, any;
  };
  struct Place {
    std::vector<std::uint32_t> releases;
    std::map<std::pair<std::int64_t, int>, std::pair<std::uint64_t, std::uint32_t>> last;
    // By block: the positions of its releases in `releases`.
    std::unordered_map<std::int64_t, std::vector<std::uint32_t>> of_block;
  };
  struct Block {
    std::vector<Acquired> acquired;
    std::vector<std::vector<std::uint32_t>> known;
  };
  std::vector<Read> reads_of(const Access& access, Asked asked) const;

  std::atomic<bool> used_ = false;
  std::mutex lock_;
  std::vector<Release> releases_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of places, by address
  std::vector<Place> places_;
  std::unordered_map<std::int64_t, Block> blocks_;
};

}  // namespace trace
