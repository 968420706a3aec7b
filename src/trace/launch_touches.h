// What the blocks of a launch touched in global memory, and where two of them conflict.
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

// A range of an array that a block touched in one epoch (from barrier to barrier), in one way, at
// one place.
struct Touch {
  enum class Way : std::uint8_t { load, atomic_load, read_only_load, store, atomic_store };
  std::uint32_t array = 0, epoch = 0;
  std::uint64_t begin = 0, end = 0;  // bytes
  std::int64_t block = 0;
  std::uint32_t place = 0;
  Way way = Way::load;
};

// Sorts the touches and merges those that can be one.
void compact(std::vector<Touch>& touches);

// Blocks run in parallel; the result does not depend on which of them ran first.
class LaunchTouches {
 public:
  // A number for a place (given as in Hazard::Actor), for use in Touch.
  std::uint32_t number_of(const std::vector<std::uint32_t>& places);
  void add(std::span<const Touch> touches);

  // Everything that was touched.
  std::vector<machine::Touched> all(std::span<const machine::KernelArray> arrays) const;

  // The first conflict for each array and pair of places: one of two blocks stores and nothing
  // orders them, or data is loaded as read-only and stored by the same launch. Call this once, at
  // the end.
  std::vector<model::Hazard> hazards(
      const BlockOrder& order, std::span<const machine::KernelArray> arrays);

 private:
  std::mutex lock_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
  std::vector<Touch> touches_;
};

}  // namespace trace
