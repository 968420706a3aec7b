#include "trace/local_stores.h"

#include <cstring>

namespace trace {

namespace {

// Whether a variable of 4 or 8 bytes that contains this address has the value.
bool holds(std::uintptr_t address, std::uintptr_t end, std::int64_t value) {
  const auto content = [&](auto variable, std::uintptr_t at) {
    if (at + sizeof variable > end) return false;
    std::memcpy(&variable, reinterpret_cast<const void*>(at), sizeof variable);
    return static_cast<std::int64_t>(variable) == value;
  };
  const std::uintptr_t word = address / 4 * 4, words = address / 8 * 8;
  return content(std::int32_t{}, word) || content(std::uint32_t{}, word) ||
         content(std::int64_t{}, words);
}

}  // namespace

const LocalStores::Slot* LocalStores::find(std::uintptr_t address) const {
  const Slot& slot = slots_[slot_of(address)];
  return slot.address == address && slot.bytes > 0 ? &slot : nullptr;
}

std::optional<LocalStores::Places> LocalStores::highest(
    std::uintptr_t begin, std::uintptr_t end) const {
  const Slot* found = nullptr;
  for (const Slot& slot : slots_) {
    if (slot.bytes == 0 || slot.address < begin || slot.address >= end) continue;
    if (found == nullptr || slot.address > found->address) found = &slot;
  }
  return found == nullptr ? std::nullopt : std::optional(found->places);
}

std::optional<LocalStores::Places> LocalStores::that_made(
    std::int64_t index, std::uintptr_t begin, std::uintptr_t end) const {
  for (const Slot& slot : slots_) {
    if (slot.bytes == 0 || slot.address < begin || slot.address >= end) continue;
    if (!holds(slot.address, end, index) &&
        (slot.bytes < 8 || !holds(slot.address + slot.bytes / 2, end, index)))
      continue;
    for (const std::uintptr_t neighbour : {slot.address - slot.bytes, slot.address + slot.bytes}) {
      const Slot* const other = find(neighbour);
      if (other != nullptr && other->places == slot.places) return slot.places;
    }
  }
  return std::nullopt;
}

}  // namespace trace
