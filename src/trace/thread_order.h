// The order between the actions of a block's threads, as far as CUDA guarantees it.
//
// A moment is a number that grows with every barrier, fence and block. A thread that crosses one
// gets a new moment, so an access is identified by its thread and the thread's moment.
//
// CUDA C++ programming guide: __syncthreads() orders all threads of a block, __syncwarp(mask) "the
// threads participating in the barrier"; shuffles and votes "do not imply a memory barrier". An
// atomic alone orders nothing. But what a thread did before a fence is visible to a thread that
// reads, by an atomic or volatile access, what the first thread stored after the fence.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/warp_access.h"

namespace trace {

class ThreadOrder {
 public:
  using Moment = std::uint64_t;

  explicit ThreadOrder(model::WarpGeometry geometry) : geometry_(geometry) {}

  void begin_block(int threads);
  void barrier();
  // Some lanes of `warp` reached a __syncwarp(mask); others may have reached it before.
  void warp_barrier(int warp, std::uint32_t lanes, std::uint32_t mask);
  void fence(int thread);
  void atomic_store(int thread, std::uint64_t place);
  void atomic_load(int thread, std::uint64_t place);
  // An exchange or a compare-and-swap. The trace follows the lanes of a warp as if they took a lock
  // together, so it does not know who holds the lock when. Threads that use the same lock are
  // therefore treated as ordered.
  void lock(int thread, std::uint64_t place);

  // The moment of a thread's current actions.
  Moment now(int thread) const { return now_[thread]; }
  // Everything at earlier moments comes before anything that the block, or the warp, does now.
  Moment block_start() const { return block_start_; }
  Moment warp_start(int warp) const { return warp_start_[warp]; }
  // Whether the thread crossed a fence since the block's last barrier.
  bool has_fenced(int thread) const { return fenced_[thread] >= block_start_; }
  // Whether anything besides barriers of a whole warp or block orders threads at present.
  bool has_edges() const { return has_edges_; }

  // Whether what `other` did at `moment` comes before what `thread` does now.
  bool is_before(Moment moment, int other, int thread) const {
    if (moment < block_start_ || other == thread) return true;
    const int warp = geometry_.warp_of(thread);
    if (geometry_.warp_of(other) == warp && moment < warp_start_[warp]) return true;
    return has_edges_ && (moment <= known(thread, other) || share_a_lock(other, thread));
  }

 private:
  using Known = std::vector<Moment>;  // per thread of the block: the last moment known

  Moment known(int thread, int other) const {
    return known_[thread].empty() ? 0 : known_[thread][other];
  }
  bool share_a_lock(int other, int thread) const;
  void join(int warp, std::uint32_t lanes);
  void learn(int thread, const Known& more);

  struct Round {  // for a __syncwarp with one mask
    std::uint32_t mask, came;
  };

  const model::WarpGeometry geometry_;
  Moment clock_ = 0, block_start_ = 0;
  bool has_edges_ = false;
  std::vector<Moment> now_, fenced_;  // by thread
  std::vector<Moment> warp_start_;
  std::vector<std::vector<Round>> rounds_;             // by warp
  std::vector<std::vector<std::uint64_t>> locks_;      // by thread
  std::vector<Known> known_;                           // by thread; empty: barriers are enough
  std::unordered_map<std::uint64_t, Known> released_;  // by place, since the block's last barrier
};

}  // namespace trace
