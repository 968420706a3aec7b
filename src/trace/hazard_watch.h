// Finds what the threads of a block must not do with shared data. It follows the order in which the
// warps ran, which is one of the orders that a GPU may choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/async_groups.h"
#include "model/counts.h"
#include "trace/copy_arrivals.h"
#include "trace/thread_order.h"
#include "trace/watched_cells.h"

namespace trace {

// Watches one block at a time, byte by byte.
class HazardWatch {
 public:
  // An access: its thread, and the caller's number for its site.
  struct Actor {
    int thread;
    std::uint32_t site;
  };
  struct Found {
    model::HazardKind kind;
    Actor first, second;  // second.site == kNone if there is only one
    std::size_t array;
    std::uint64_t byte;  // from the start of the array
    std::int64_t block;
    bool of_warps;  // of different warps, at least once
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit HazardWatch(model::WarpGeometry geometry = {}) : geometry_(geometry), order_(geometry) {}

  // Watches an array of this size under the caller's number, from that address on. A block may load
  // from shared memory only what it stored there.
  void watch(std::size_t array, std::size_t bytes, bool shared = true, std::uintptr_t begin = 0);
  bool is_watched(std::size_t array) const { return cells_.is_watched(array); }

  void begin_block(std::int64_t block, int threads);
  void load(std::size_t array, std::uint64_t byte, int bytes, Actor actor, How how = How::plain);
  void store(std::size_t array, std::uint64_t byte, int bytes, Actor actor, How how = How::plain);
  // A cp.async, at its issue.
  void copy(std::size_t array, std::uint64_t byte, int bytes, Actor actor);
  // The load of an atomic; its store follows.
  void update(std::size_t array, std::uint64_t byte, int bytes, Actor actor);
  void commit(int thread);
  void wait(int thread, std::uint64_t groups_in_flight);
  void fence(int thread, bool wide) { order_.fence(thread, wide); }
  const ThreadOrder& order() const { return order_; }
  // An atomic or volatile access to that address: acquire before its load, release after its store.
  void acquire(int thread, std::uint64_t address) { order_.atomic_load(thread, address); }
  void lock(int thread, std::uint64_t address) { order_.lock(thread, address); }
  void release(int thread, std::uint64_t address) { order_.atomic_store(thread, address); }
  void warp_barrier(int warp, std::uint32_t lanes, std::uint32_t mask) {
    order_.warp_barrier(warp, lanes, mask);
  }
  void barrier();
  // Barriers in shared memory: the initialization is a store. Who uses the barrier must come after
  // it, and if the copy engine uses it, after a fence, too.
  void use_barrier(std::size_t array, std::uint64_t byte, Actor actor, bool by_copies);
  void proxy_fence(int thread) { order_.proxy_fence(thread); }
  void barrier_fence(int thread) { order_.barrier_fence(thread); }
  void arrive(int thread, std::uint64_t phase) { order_.arrive(thread, phase); }
  // The thread arrives when its copies so far are complete; they are once `phase` of the barrier
  // is.
  void arrive_copied(int thread, std::uint32_t barrier, std::uint64_t phase, std::uint64_t place);
  void completed(std::uint32_t barrier, std::uint64_t phase);
  void pass(int thread, std::uint64_t phase) { order_.pass(thread, phase); }
  // A store or load by an agent (trace/thread_order.h) that `actor` started, as the agent's
  // `action`.
  ThreadOrder::Moment act(int agent) { return order_.act(agent); }
  void learn_action(int thread, int agent, ThreadOrder::Moment action) {
    order_.learn_action(thread, agent, action);
  }
  void agent_store(
      std::size_t array, std::uint64_t byte, int bytes, Actor actor, int agent,
      ThreadOrder::Moment action);
  void agent_load(
      std::size_t array, std::uint64_t byte, int bytes, Actor actor, int agent,
      ThreadOrder::Moment action);
  void end_block() { barrier(); }
  void misaligned(std::size_t array, std::uint64_t byte, Actor actor);

  // The first hazard for each kind, array and pair of sites.
  const std::vector<Found>& found() const { return found_; }

 private:
  struct Copy {
    std::size_t array;
    std::uint64_t byte;
    int bytes;
    Actor actor;
  };

  // A load of memory that nobody has stored to. If another thread writes there in the same epoch,
  // it is a race instead, unless both are atomics.
  struct ReadOfNothing {
    Actor actor;
    std::size_t array;
    std::uint64_t byte;
    bool by_atomic;
  };

  // From that moment of its thread on, the copy acts like a store by the thread.
  void arrived(const Copy& copy, ThreadOrder::Moment moment);
  // An earlier access by another thread that must be ordered with this one but is not; kNone if
  // there is none.
  // `place`: the cell's address if locks order threads at present.
  Actor unordered_store(const Cell& cell, int thread, std::uint64_t place = 0) const;
  Actor unordered_agent_load(const Cell& cell, int thread) const;
  // What an unordered store is: a race, or a copy that was not waited for.
  static model::HazardKind kind_of_unordered(const Cell& cell);
  Actor unfenced_store(const Cell& cell, int thread) const;
  Actor unordered(const Together& others, int thread, std::uint64_t place) const;
  Actor unordered_atomic(const Cell& cell, int thread, How how, std::uint64_t place = 0) const;
  Actor unordered_load(const Cell& cell, int thread, How how, std::uint64_t place = 0) const;
  std::uintptr_t begin_of(std::size_t array) const {
    return order_.has_edges() ? begins_[array] : 0;
  }
  bool may_meet(const Together& others, int thread, How how) const;
  void note_load(Cell& cell, Actor actor, How how);
  void note_plain_store(Cell& cell, Actor actor);
  void report(
      model::HazardKind kind, Actor first, Actor second, std::size_t array, std::uint64_t byte);

  const model::WarpGeometry geometry_;
  ThreadOrder order_;
  WatchedCells cells_;
  std::vector<bool> is_shared_;                     // by array
  std::vector<std::uintptr_t> begins_;              // by array
  std::vector<machine::AsyncGroups<Copy>> copies_;  // per thread
  CopyArrivals arrivals_;
  std::vector<ReadOfNothing> reads_of_nothing_;  // in this epoch
  std::vector<Found> found_;
  std::vector<int> thread_of_site_;  // the last that started an agent's action there
  std::int64_t block_ = 0;
};

}  // namespace trace
