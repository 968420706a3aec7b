// What cp.async has on its way: bytes that a thread asked for and has not waited for yet.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/warp_access.h"

namespace trace {

// Of the threads of one block at a time.
class CopiesInFlight {
 public:
  void begin_block(int threads) {
    threads_.assign(threads, {});
    warps_.assign((threads + model::kWarpSize - 1) / model::kWarpSize, 0);
  }
  void copy(int thread, int bytes) {
    threads_[thread].open += bytes;
    warps_[thread / model::kWarpSize] += bytes;
  }
  void commit(int thread) {
    Thread& of = threads_[thread];
    of.groups.push_back(of.open);
    of.open = 0;
  }
  // Until no more than so many of the groups last committed are on their way.
  void wait(int thread, std::uint64_t groups_in_flight) {
    Thread& of = threads_[thread];
    for (; of.groups.size() > groups_in_flight; of.groups.pop_front()) {
      warps_[thread / model::kWarpSize] -= of.groups.front();
    }
  }
  std::int64_t bytes_of_warp(int warp) const { return warps_[warp]; }

 private:
  struct Thread {
    std::deque<std::int64_t> groups;  // committed, oldest first
    std::int64_t open = 0;            // not committed yet
  };
  std::vector<Thread> threads_;
  std::vector<std::int64_t> warps_;
};

}  // namespace trace
