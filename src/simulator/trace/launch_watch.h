// Data that the tracers of a launch's blocks share in order to find hazards.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/warp_access.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/trace/hooks.h"
#include "simulator/trace/thread_order.h"

namespace trace {

// Which thread of a launch wrote which word of the result. Shared by all tracers of its blocks.

class ResultWriters {
 public:
  // Starts with no word of the result matrices written.
  explicit ResultWriters(std::span<const machine::GlobalArray> matrices);

  // For each word: the thread of the launch that wrote it last, plus 1; 0: none.
  std::span<const std::uint64_t> words() const { return {words_.get(), count_}; }

  // Records `writer` for a word. Blocks run in parallel.
  void put(std::size_t word, std::uint64_t writer) {
    __atomic_store_n(&words_.get()[word], writer, __ATOMIC_RELAXED);
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::size_t count_ = 0;
  std::unique_ptr<std::uint64_t, Free> words_;
};

// The order between the blocks of a launch that wait for each other.
//
// Only fences and atomics order two blocks. What comes before a __threadfence() is visible to a
// thread that reads, by an atomic or through a volatile pointer, what was stored likewise after the
// fence, and to all that comes after the read. What comes before and after it in a block, its
// ThreadOrder knows. PTX ISA, memory consistency model: fences are cumulative, so the fence may be
// another thread's if barriers order the two. We do not require a fence after the read: the model
// requires one, but much correct code for GPUs lacks it.

// Which order of two accesses is required.
enum class Strictness {
  all,         // the order that CUDA requires
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
  // The order of the accesses of one or more threads of a block: `knows` is a number for what they
  // have acquired, or 0.
  struct Access {
    std::int64_t block;
    Instant at;
    std::uint32_t knows;
    std::uint64_t stored_to = 0;  // atomically: who reads that address atomically sees this store
  };
  static constexpr int kAnyThread = -1;

  // A thread of `block` will store atomically to `address`. Returns a number for this store; it is
  // the same as before if the thread has stored there in the same `state` of its block.
  std::uint32_t release(std::int64_t block, int thread, std::uint64_t state, std::uint64_t address);
  // When that store was made, and what is before it: after wide fences, and after any fences.
  void add(std::uint32_t release, Instant at, const Fenced& wide, const Fenced& any);
  Read read(std::uint64_t address);
  // All reads of the threads of a block, and which of them each number `knows` - 1 includes.
  void end_block(
      std::int64_t block, std::vector<Acquired> acquired,
      std::vector<std::vector<std::uint32_t>> known);

  // Whether there was any release.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

  // Whether `first` comes before `second`; `thread` is the one of `first`, or kAnyThread.
  bool is_before(
      const Access& first, int thread, const Access& second, Strictness strictness) const;

 private:
  struct Release {
    std::int64_t block;
    int thread;
    std::uint64_t address;
    Instant at = 0;
    Fenced wide = {}, any = {};
  };
  struct Released {
    std::vector<std::uint32_t> releases;
    std::map<std::pair<std::int64_t, int>, std::pair<std::uint64_t, std::uint32_t>> last;
    // By block: the positions of its releases in `releases`.
    std::unordered_map<std::int64_t, std::vector<std::uint32_t>> of_block;
  };
  struct KnownReleases {
    std::vector<Acquired> acquired;
    std::vector<std::vector<std::uint32_t>> known;
  };
  std::vector<Read> reads_of(const Access& access, Strictness strictness) const;

  std::atomic<bool> used_ = false;
  std::mutex lock_;
  std::vector<Release> releases_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of places, by address
  std::vector<Released> places_;
  std::unordered_map<std::int64_t, KnownReleases> blocks_;
};

// Whether an access is one of an update of an element, such as `sum += x`.
enum class Update : std::uint8_t { unknown, always, not_always };

// The bytes of global memory that the blocks of a launch touched, and the conflicts between two
// blocks.

// A range of an array that threads of a block touched at one moment, in one way, at one place.
struct Touch {
  // An atomic of the block's scope is a narrow store.
  enum class Way : std::uint8_t {
    load,
    atomic_load,
    read_only_load,
    store,
    atomic_store,
    narrow_store
  };
  std::uint32_t array = 0;
  Instant at = 0;
  std::uint64_t begin = 0, end = 0;  // bytes
  std::int64_t block = 0;
  std::uint32_t place = 0, knows = 0;  // as in BlockOrder::Access
  // A thread that stores, and if it has only the first `pitch` bytes, its successors have the next.
  std::int16_t thread = BlockOrder::kAnyThread;
  Way way = Way::load;
  std::uint32_t pitch = 0;
  // What plain stores stored there, if all of them stored the same; and whether they were several,
  // as of a flag.
  std::uint64_t value = kNoValue;
  bool is_flag = false;

  // Adds a touch that differs only in its range and thread. Returns false if it cannot be one with
  // this.
  bool extend(const Touch& more);
  bool extend_range(const Touch& more);
  int thread_at(std::uint64_t byte) const {
    return pitch == 0 ? thread : thread + static_cast<int>((byte - begin) / pitch);
  }
  // The first byte of the next thread's part.
  std::uint64_t next_part(std::uint64_t byte) const {
    return pitch == 0 ? end : begin + ((byte - begin) / pitch + 1) * pitch;
  }
};

// Sorts the touches and merges those that can be one.
void compact(std::vector<Touch>& touches);

// Blocks run in parallel; the result does not depend on which of them ran first.
class LaunchTouches {
 public:
  // A number for a place (given as in Hazard::Actor), for use in Touch.
  std::uint32_t number_of(const std::vector<std::uint32_t>& places);
  void add(std::span<const Touch> touches);
  // What plain loads at these places load is only a guess, which a compare-and-swap checks.
  void add_guess(const std::vector<std::uint32_t>& places);
  // Whether these places always are those of an update.
  void add_update(const std::vector<std::uint32_t>& places, bool always);
  // Whether it is a race of such a load with an atomic of its block.
  bool is_of_guess(const model::Hazard& hazard) const;

  // Everything that was touched.
  std::vector<machine::Touched> all(std::span<const machine::KernelArray> arrays) const;

  // The first conflict for each array and pair of places: one of two blocks stores and nothing
  // orders them, or data is loaded as read-only and stored by the same launch. If both store the
  // same value, that is a note. Call this once, at the end.
  std::vector<model::Hazard> hazards(
      const BlockOrder& order, std::span<const machine::KernelArray> arrays);

 private:
  std::mutex lock_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
  std::vector<Touch> touches_;
  std::set<std::vector<std::uint32_t>> guesses_;
  std::map<std::vector<std::uint32_t>, bool> updates_;
};

struct LaunchWatch {
  explicit LaunchWatch(std::span<const machine::GlobalArray> matrices) : writers(matrices) {}

  ResultWriters writers;
  BlockOrder order;
  LaunchTouches touches;
  // A block counts in global memory or lets others run. From then on the launch may depend on the
  // order of its blocks.
  std::atomic<bool> counts = false;
  // Earlier launches ran whole, so memory that they should have written is written.
  bool memory_is_known = true;
  bool depends_on_order() const { return counts || order.is_used(); }
};

}  // namespace trace
