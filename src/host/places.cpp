#include "host/places.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "machine/device_memory.h"
#include "machine/grid.h"
#include "machine/program.h"
#include "machine/symbols.h"

namespace host {
namespace {

std::map<const char*, std::size_t> symbols;  // bytes, by their address

// A thread may allocate while another is in a call of CUDA.
std::mutex heap_lock;
// Bytes, by their address. A program's static objects allocate before this one would be made, and
// free after it would be gone.
std::map<const char*, std::size_t>& heap() {
  static auto& map = *new std::map<const char*, std::size_t>;
  return map;
}

std::optional<std::size_t> left_in_heap(const char* pointer) {
  const std::lock_guard guard(heap_lock);
  auto next = heap().upper_bound(pointer);
  if (next == heap().begin()) return std::nullopt;
  const auto& [begin, bytes] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(pointer - begin);
  return offset <= bytes ? std::optional(bytes - offset) : std::nullopt;
}

std::size_t left(const void* pointer, const void* begin, std::size_t bytes) {
  return bytes - (static_cast<const char*>(pointer) - static_cast<const char*>(begin));
}

}  // namespace

Place place_of(const void* pointer) {
  if (const auto array = machine::array_at(pointer)) {
    return {
        array->kind != machine::MemoryKind::device, true, array->name,
        left(pointer, array->data, array->bytes)};
  }
  // The matrices that a user's sgemm is called with.
  if (const machine::GlobalArray* array = machine::current_array_at(pointer)) {
    return {true, true, array->name, left(pointer, array->data, array->bytes)};
  }
  if (const auto array = machine::freed_array_at(pointer)) {
    return {false, false, array->name, 0, true};
  }
  if (machine::is_device_address(pointer)) return {false, false, "", 0};
  for (const machine::DeviceVariable& variable : machine::device_variables()) {
    const auto offset = static_cast<std::size_t>(
        static_cast<const char*>(pointer) - static_cast<const char*>(variable.data));
    if (offset < variable.bytes) return {false, true, variable.name, variable.bytes - offset};
  }
  auto next = symbols.upper_bound(static_cast<const char*>(pointer));
  if (next != symbols.begin()) {
    const auto& [data, bytes] = *std::prev(next);
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - data);
    if (offset < bytes) return {false, true, "", bytes - offset};
  }
  if (const auto* variable = machine::host_variable_at(reinterpret_cast<std::uintptr_t>(pointer))) {
    const auto* const begin = reinterpret_cast<const void*>(variable->begin);
    return {true, false, variable->name, left(pointer, begin, variable->bytes)};
  }
  if (const auto bytes = left_in_heap(static_cast<const char*>(pointer))) {
    return {true, false, "memory of the host", *bytes};
  }
  return {true, false, ""};
}

void know_heap(const void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  const auto* const begin = static_cast<const char*>(memory);
  const std::lock_guard guard(heap_lock);
  // A library may have freed what was there.
  for (auto old = heap().lower_bound(begin); old != heap().end() && old->first < begin + bytes;) {
    old = heap().erase(old);
  }
  heap()[begin] = bytes;
}

void forget_heap(const void* memory) {
  const std::lock_guard guard(heap_lock);
  heap().erase(static_cast<const char*>(memory));
}

void know_symbol(const void* data, std::size_t bytes) {
  symbols[static_cast<const char*>(data)] = bytes;
}

std::string why_not_free(const void* pointer) {
  if (const auto array = machine::array_at(pointer)) {
    if (array->data != pointer) return "the pointer is not to the start of " + array->name;
    switch (array->kind) {
      case machine::MemoryKind::pinned:
        return array->name + " is memory of the host; free it by cudaFreeHost";
      case machine::MemoryKind::registered:
        return array->name + " is memory of the program; unregister it by cudaHostUnregister";
      default:
        return array->name + " is memory of the GPU; free it by cudaFree";
    }
  }
  if (const auto array = machine::freed_array_at(pointer)) return array->name + " was freed before";
  return "the pointer is not from cudaMalloc";
}

}  // namespace host
