#include "machine/device_memory.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace machine {
namespace {

// Whole pages: an audit protects the pages of each array, and nothing else may lie in them.
constexpr std::size_t kAlignment = 4096;

struct Allocation {
  std::string name;
  std::size_t bytes;
};
std::map<void*, Allocation> allocations;  // changed only by host code, between launches

std::string last_name(std::string_view argument) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::size_t end = argument.size();
  while (end > 0 && !in_name(argument[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && in_name(argument[begin - 1])) --begin;
  return begin < end ? std::string(argument.substr(begin, end - begin)) : "memory";
}

}  // namespace

std::vector<GlobalArray> device_arrays() {
  std::vector<GlobalArray> arrays;
  for (const auto& [memory, allocation] : allocations) {
    arrays.push_back({allocation.name.c_str(), memory, allocation.bytes});
  }
  return arrays;
}

}  // namespace machine

void* simt::device_malloc(std::size_t bytes, std::string_view argument) {
  if (machine::in_kernel()) {
    machine::fault("it calls cudaMalloc, which is for the host", __builtin_return_address(0));
  }
  if (bytes == 0 || bytes > static_cast<std::size_t>(-1) / 2) return nullptr;
  const std::size_t rounded =
      (bytes + machine::kAlignment - 1) / machine::kAlignment * machine::kAlignment;
  void* memory = std::aligned_alloc(machine::kAlignment, rounded);
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0xff, bytes);
  machine::allocations[memory] = {machine::last_name(argument), bytes};
  return memory;
}

bool simt::device_free(void* memory) {
  if (memory != nullptr && machine::allocations.erase(memory) == 0) return false;
  std::free(memory);
  return true;
}
