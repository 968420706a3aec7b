// What the blocks of a launch touched in global memory, and where two of them may not both.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "machine/kernel_memory.h"
#include "model/counts.h"
#include "trace/block_order.h"

namespace trace {

// A stretch of an array that a block touched in one epoch (from barrier to barrier), in one way, at
// one place.
struct Touch {
  enum class Way : std::uint8_t { load, atomic_load, read_only_load, store, atomic_store };
  std::uint32_t array = 0, epoch = 0;
  std::uint64_t begin = 0, end = 0;  // bytes
  std::int64_t block = 0;
  std::uint32_t place = 0;
  Way way = Way::load;
};

// Sorts them and puts together those that are one.
void compact(std::vector<Touch>& touches);

// Blocks run side by side; what is found does not depend on which of them came first.
class LaunchTouches {
 public:
  // The number of a place, given as in Hazard::Actor, for Touch.
  std::uint32_t number_of(const std::vector<std::uint32_t>& places);
  void add(std::span<const Touch> touches);

  // The first of each array and pair of places, where one of two blocks stores and nothing orders
  // them; and what is loaded as read-only, and stored by the same launch. Once, at the end.
  std::vector<model::Hazard> hazards(
      const BlockOrder& order, std::span<const machine::KernelArray> arrays);

 private:
  std::mutex lock_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
  std::vector<Touch> touches_;
};

}  // namespace trace
