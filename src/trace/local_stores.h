// The latest stores through pointers to a thread's own local variables. They are not counted, but
// one beyond the end of an array may change another variable, which is noticed only when that is
// used as an index, or when its function returns. (The compiler announces no store to a variable
// whose address nothing takes.)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine/code_place.h"

namespace trace {

class LocalStores {
 public:
  // The store's place in the code, and that of the call of the function that makes it.
  using Places = std::array<machine::CodePlace, 2>;  // outermost first

  void note(std::uintptr_t address, std::uint32_t bytes, const Places& places) {
    slots_[slot_of(address)] = {address, bytes, places};
  }

  // The store to the highest addresses of [begin, end), if there is one.
  std::optional<Places> highest(std::uintptr_t begin, std::uintptr_t end) const;

  // The store that gave a variable in [begin, end) of the stack the value `index`, if the same
  // place has also stored to the memory before or after it: so it went through an array.
  std::optional<Places> that_made(
      std::int64_t index, std::uintptr_t begin, std::uintptr_t end) const;

 private:
  struct Slot {
    std::uintptr_t address = 0;
    std::uint32_t bytes = 0;
    Places places{};
  };
  static constexpr std::size_t kSlots = 1 << 12;
  static std::size_t slot_of(std::uintptr_t address) {
    return (address / 4 * 0x9e3779b97f4a7c15u >> 32) % kSlots;
  }
  const Slot* find(std::uintptr_t address) const;

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

}  // namespace trace
