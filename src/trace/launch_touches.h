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

// A range of an array that threads of a block touched at one moment, in one way, at one place.
struct Touch {
  // An atomic of the block's scope is a narrow store.
  enum class Way : std::uint8_t {
    load,
    atomic_load,
    read_only_load,
    store,
    atomic_store,
    narrow_store
  };
  std::uint32_t array = 0;
  Instant at = 0;
  std::uint64_t begin = 0, end = 0;  // bytes
  std::int64_t block = 0;
  std::uint32_t place = 0, knows = 0;  // as in BlockOrder::Access
  // A thread that stores, and if it has only the first `pitch` bytes, its successors have the next.
  std::int16_t thread = BlockOrder::kAnyThread;
  Way way = Way::load;
  std::uint32_t pitch = 0;

  // Adds a touch that differs only in its range and thread. Returns false if it cannot be one with
  // this.
  bool extend(const Touch& more);
  int thread_at(std::uint64_t byte) const {
    return pitch == 0 ? thread : thread + static_cast<int>((byte - begin) / pitch);
  }
  // The first byte of the next thread's part.
  std::uint64_t next_part(std::uint64_t byte) const {
    return pitch == 0 ? end : begin + ((byte - begin) / pitch + 1) * pitch;
  }
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
