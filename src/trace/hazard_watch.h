// What the threads of a block may not do with memory that they share: found in the order in which
// warps run, which is one of those that a GPU may choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/async_groups.h"
#include "model/counts.h"
#include "trace/thread_order.h"
#include "trace/watched_cells.h"

namespace trace {

// Watches one block at a time, to the byte.
class HazardWatch {
 public:
  // An access, by the number that its site has for the caller.
  struct Actor {
    int thread;
    std::uint32_t site;
  };
  struct Found {
    model::HazardKind kind;
    Actor first, second;  // second.site == kNone where there is only one
    std::size_t array;
    std::uint64_t byte;  // from the array's begin
    std::int64_t block;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit HazardWatch(model::WarpGeometry geometry = {}) : geometry_(geometry), order_(geometry) {}

  // Watches memory of so many bytes under the caller's number. Of shared memory a block may load
  // only what it stored.
  void watch(std::size_t array, std::size_t bytes, bool shared = true);
  bool is_watched(std::size_t array) const { return cells_.is_watched(array); }

  void begin_block(std::int64_t block, int threads);
  void load(std::size_t array, std::uint64_t byte, int bytes, Actor actor, How how = How::plain);
  void store(std::size_t array, std::uint64_t byte, int bytes, Actor actor, How how = How::plain);
  void copy(std::size_t array, std::uint64_t byte, int bytes, Actor actor);  // cp.async, issued
  // The load of an atomic, whose store follows.
  void update(std::size_t array, std::uint64_t byte, int bytes, Actor actor);
  void commit(int thread);
  void wait(int thread, std::uint64_t groups_in_flight);
  void fence(int thread) { order_.fence(thread); }
  // An atomic or volatile load or store of that address: before it is loaded, behind its store.
  void acquire(int thread, std::uint64_t address) { order_.atomic_load(thread, address); }
  void lock(int thread, std::uint64_t address) { order_.lock(thread, address); }
  void release(int thread, std::uint64_t address) { order_.atomic_store(thread, address); }
  void warp_barrier(int warp, std::uint32_t lanes, std::uint32_t mask) {
    order_.warp_barrier(warp, lanes, mask);
  }
  void barrier();
  void end_block() { barrier(); }
  void misaligned(std::size_t array, std::uint64_t byte, Actor actor);

  // One of every kind, array and pair of sites: the first.
  const std::vector<Found>& found() const { return found_; }

 private:
  struct Copy {
    std::size_t array;
    std::uint64_t byte;
    int bytes;
    Actor actor;
  };

  // A race, if somebody else writes there in the same epoch: but atomics do not race.
  struct ReadOfNothing {
    Actor actor;
    std::size_t array;
    std::uint64_t byte;
    bool by_atomic;
  };

  // A thread's access that another one's may not be unordered with; kNone where there is none.
  Actor unordered_store(const Cell& cell, int thread) const;
  Actor unordered(const Together& others, int thread) const;
  Actor unordered_atomic(const Cell& cell, int thread, How how) const;
  Actor unordered_load(const Cell& cell, int thread, How how) const;
  bool may_meet(const Together& others, int thread, How how) const;
  void note_load(Cell& cell, Actor actor, How how);
  void note_plain_store(Cell& cell, Actor actor);
  void report(
      model::HazardKind kind, Actor first, Actor second, std::size_t array, std::uint64_t byte);

  const model::WarpGeometry geometry_;
  ThreadOrder order_;
  WatchedCells cells_;
  std::vector<bool> is_shared_;                     // by array
  std::vector<machine::AsyncGroups<Copy>> copies_;  // of each thread
  std::vector<ReadOfNothing> reads_of_nothing_;     // in this epoch
  std::vector<Found> found_;
  std::int64_t block_ = 0;
};

}  // namespace trace
