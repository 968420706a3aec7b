// Arrivals at the barriers of a block that come when a thread's copies have.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace trace {

struct CopyArrival {
  int thread;
  std::uint64_t copies;  // the thread's first ones, in all
  std::uint64_t moment;  // of the thread
  std::uint64_t phase;   // of the barrier
};

class CopyArrivals {
 public:
  void clear() { waiting_.clear(); }
  void add(std::uint32_t barrier, const CopyArrival& arrival) {
    waiting_[barrier].push_back(arrival);
  }
  // The barrier's phases up to this one are complete: visits their arrivals, once.
  template <class Visit>
  void complete(std::uint32_t barrier, std::uint64_t phase, Visit visit) {
    const auto found = waiting_.find(barrier);
    if (found == waiting_.end()) return;
    std::erase_if(found->second, [&](const CopyArrival& arrival) {
      if (arrival.phase > phase) return false;
      visit(arrival);
      return true;
    });
  }

 private:
  std::map<std::uint32_t, std::vector<CopyArrival>> waiting_;  // by barrier
};

}  // namespace trace
