// What the threads of a block did before what others did, as far as CUDA promises it.
//
// A moment is a number that grows with every barrier, fence and block. Whoever crosses one gets a
// new moment, so an access is known by its thread and the thread's moment.
//
// CUDA C++ programming guide: __syncthreads() orders all threads of a block, __syncwarp(mask) "the
// threads participating in the barrier"; shuffles and votes "do not imply a memory barrier". An
// atomic orders nothing by itself, but what a thread did before a fence is there for whoever reads,
// by an atomic or volatile, what the thread stored so behind the fence.
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
  // Some lanes of `warp` came to a __syncwarp(mask), as others may have done before.
  void warp_barrier(int warp, std::uint32_t lanes, std::uint32_t mask);
  void fence(int thread);
  void atomic_store(int thread, std::uint64_t place);
  void atomic_load(int thread, std::uint64_t place);
  // An exchange or a compare-and-swap. Who holds a lock when is not known, for the lanes of a warp
  // are followed as if they took it together: threads that use the same one are called ordered.
  void lock(int thread, std::uint64_t place);

  // The moment of what a thread does now.
  Moment now(int thread) const { return now_[thread]; }
  // What was done at earlier moments is before anything that the block does now, or its warp.
  Moment block_start() const { return block_start_; }
  Moment warp_start(int warp) const { return warp_start_[warp]; }
  // Whether it crossed a fence since the block's last barrier.
  bool has_fenced(int thread) const { return fenced_[thread] >= block_start_; }
  // Whether only barriers of a whole warp or block order threads at present.
  bool has_edges() const { return has_edges_; }

  // Whether what `other` did at `moment` is before what `thread` does now.
  bool is_before(Moment moment, int other, int thread) const {
    if (moment < block_start_ || other == thread) return true;
    const int warp = geometry_.warp_of(thread);
    if (geometry_.warp_of(other) == warp && moment < warp_start_[warp]) return true;
    return has_edges_ && (moment <= known(thread, other) || share_a_lock(other, thread));
  }

 private:
  using Known = std::vector<Moment>;  // of each thread of the block, up to when it is known

  Moment known(int thread, int other) const {
    return known_[thread].empty() ? 0 : known_[thread][other];
  }
  bool share_a_lock(int other, int thread) const;
  void join(int warp, std::uint32_t lanes);
  void learn(int thread, const Known& more);

  struct Round {  // of a __syncwarp with one mask
    std::uint32_t mask, came;
  };

  const model::WarpGeometry geometry_;
  Moment clock_ = 0, block_start_ = 0;
  bool has_edges_ = false;
  std::vector<Moment> now_, fenced_;  // by thread
  std::vector<Moment> warp_start_;
  std::vector<std::vector<Round>> rounds_;             // by warp
  std::vector<std::vector<std::uint64_t>> locks_;      // by thread
  std::vector<Known> known_;                           // by thread; empty: barriers say it all
  std::unordered_map<std::uint64_t, Known> released_;  // by place, since the block's last barrier
};

}  // namespace trace
