// The numbers and the latest actions of a block's agents (src/trace/thread_order.h).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trace/thread_order.h"

namespace trace {

class AsyncAgents {
 public:
  enum class Kind { copies, tensor_cores, stores };

  void begin_block() {
    numbers_.clear();
    actions_.clear();
    barriers_.clear();
    started_.clear();
  }
  // Of the copies that a barrier counts, of the tensor cores for a warpgroup, of a thread's stores.
  int number(Kind kind, std::uint32_t of) {
    return numbers_.try_emplace({kind, of}, static_cast<int>(numbers_.size())).first->second;
  }
  // The agent's actions, in order: threads count those that are complete.
  std::vector<ThreadOrder::Moment>& actions(int agent) { return actions_[agent]; }
  // The number of multiplications that a warp has started; start() adds one to it afterwards.
  std::size_t start(int warp) { return started_[warp]++; }
  std::size_t started(int warp) const { return started_.at(warp); }

  // The address of each barrier, by number; 0 if it is named.
  void init(std::uint32_t barrier, std::uintptr_t address) {
    if (barriers_.size() <= barrier) barriers_.resize(barrier + 1, 0);
    barriers_[barrier] = address;
  }
  std::uintptr_t address(std::uint32_t barrier) const {
    return barrier < barriers_.size() ? barriers_[barrier] : 0;
  }
  // Places for ThreadOrder, which no address equals.
  static std::uint64_t place(std::uint32_t barrier, std::uint64_t phase) {
    return std::uint64_t{1} << 63 | std::uint64_t{barrier} << 40 | phase;
  }
  static std::uint64_t place_of_multiply(int agent, std::uint64_t number) {
    return std::uint64_t{1} << 62 | place(static_cast<std::uint32_t>(agent), number);
  }

 private:
  std::map<std::pair<Kind, std::uint32_t>, int> numbers_;
  std::map<int, std::vector<ThreadOrder::Moment>> actions_;
  std::map<int, std::size_t> started_;
  std::vector<std::uintptr_t> barriers_;
};

}  // namespace trace
