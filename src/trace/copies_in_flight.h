// The cp.async copies in flight: bytes that a thread has requested and not yet waited for.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/async_groups.h"
#include "model/warp_access.h"

namespace trace {

// For the threads of one block at a time.
class CopiesInFlight {
 public:
  explicit CopiesInFlight(model::WarpGeometry geometry = {}) : geometry_(geometry) {}
  void begin_block(int threads) {
    threads_.assign(threads, {});
    warps_.assign(geometry_.warps_of(threads), 0);
  }
  void copy(int thread, int bytes) {
    threads_[thread].issue(bytes);
    warps_[geometry_.warp_of(thread)] += bytes;
  }
  void commit(int thread) { threads_[thread].commit(); }
  // Waits until at most this many of the most recently committed groups are in flight.
  void wait(int thread, std::uint64_t groups_in_flight) {
    std::int64_t& of_warp = warps_[geometry_.warp_of(thread)];
    threads_[thread].wait(groups_in_flight, [&](int bytes) { of_warp -= bytes; });
  }
  std::int64_t bytes_of_warp(int warp) const { return warps_[warp]; }

 private:
  const model::WarpGeometry geometry_;
  std::vector<machine::AsyncGroups<int>> threads_;  // bytes of each copy
  std::vector<std::int64_t> warps_;
};

}  // namespace trace
