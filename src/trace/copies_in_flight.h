// The cp.async copies in flight: bytes that a thread has requested and not yet waited for.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/async_groups.h"
#include "model/warp_access.h"
#include "trace/copy_arrivals.h"

namespace trace {

// For the threads of one block at a time.
class CopiesInFlight {
 public:
  explicit CopiesInFlight(model::WarpGeometry geometry = {}) : geometry_(geometry) {}
  void begin_block(int threads) {
    threads_.assign(threads, {});
    warps_.assign(geometry_.warps_of(threads), 0);
    arrivals_.clear();
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
  // The thread arrives at a barrier when its copies so far are complete; and that phase is.
  void arrive_copied(int thread, std::uint32_t barrier, std::uint64_t phase) {
    arrivals_.add(barrier, {thread, threads_[thread].issued(), 0, phase});
  }
  void completed(std::uint32_t barrier, std::uint64_t phase) {
    arrivals_.complete(barrier, phase, [&](const CopyArrival& arrival) {
      std::int64_t& of_warp = warps_[geometry_.warp_of(arrival.thread)];
      threads_[arrival.thread].wait_for_first(arrival.copies, [&](int bytes) { of_warp -= bytes; });
    });
  }
  std::int64_t bytes_of_warp(int warp) const { return warps_[warp]; }

 private:
  const model::WarpGeometry geometry_;
  std::vector<machine::AsyncGroups<int>> threads_;  // bytes of each copy
  std::vector<std::int64_t> warps_;
  CopyArrivals arrivals_;
};

}  // namespace trace
