#include "machine/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>

#include "machine/program.h"

namespace machine {
namespace {

// Whole pages: pages are closed to host code, and an audit protects those of each array.
constexpr std::size_t kPage = 4096;
// An index of 32 bits cannot leave the range from either end of it.
constexpr std::size_t kMargin = std::size_t{8} << 30;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Addresses without memory. They are reserved before main, because the limits for a user's program
// count addresses (guard/child.cpp).
struct Range {
  char* begin = nullptr;
  std::size_t bytes = std::size_t{256} << 30;

  Range() {
    // Some systems give a process fewer addresses.
    for (; bytes > 4 * kMargin; bytes /= 2) {
      void* reserved =
          mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (reserved == MAP_FAILED) continue;
      begin = static_cast<char*>(reserved);
      return;
    }
    bytes = 0;
  }
  bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin) <
           bytes;
  }
};
const Range range;

// Changed only by host code, between launches.
using Arrays = std::map<const char*, DeviceArray>;  // by their first address
Arrays arrays, freed;
std::size_t allocated = 0;
int opened = 0;

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

const DeviceArray* holder(const Arrays& among, const void* address) {
  auto next = among.upper_bound(static_cast<const char*>(address));
  if (next == among.begin()) return nullptr;
  const DeviceArray& before = std::prev(next)->second;
  return before.holds(address) ? &before : nullptr;
}

// A place for an array with a gap before and after it; null if there is none. Goes round the range,
// so that the addresses of a freed array are used again as late as possible.
char* free_place(std::size_t bytes, std::size_t gap) {
  static char* from = range.begin + kMargin;
  char* const last = range.begin + range.bytes - kMargin;
  const std::size_t need = bytes + 2 * gap;
  for (const bool again : {false, true}) {
    if (again) from = range.begin + kMargin;
    auto next = arrays.lower_bound(from);
    while (static_cast<std::size_t>(last - from) >= need) {
      while (next != arrays.end() && !range.holds(next->first)) ++next;  // a registered array
      if (next == arrays.end() || static_cast<std::size_t>(next->first - from) >= need) {
        char* const place = from + gap;
        from = place + bytes;
        return place;
      }
      from = next->second.data + whole_pages(next->second.bytes);
      ++next;
    }
  }
  return nullptr;
}

char* free_place(std::size_t bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const std::size_t pages = whole_pages(bytes);
  char* const place = free_place(pages, std::clamp(pages, 16 * kMiB, 256 * kMiB));
  return place != nullptr ? place : free_place(pages, kMiB / 16);  // very many arrays
}

void protect(const DeviceArray& array, int how) {
  if (array.kind == MemoryKind::device) mprotect(array.data, whole_pages(array.bytes), how);
}

void forget_freed_in(const char* place, std::size_t bytes) {
  auto old = freed.lower_bound(place + bytes);
  while (old != freed.begin()) {
    --old;
    if (old->first + whole_pages(old->second.bytes) <= place) return;
    old = freed.erase(old);
  }
}

}  // namespace

void* allocate_array(std::size_t bytes, std::string_view argument, MemoryKind kind) {
  if (range.begin == nullptr || bytes > most_device_bytes() - device_bytes()) return nullptr;
  char* const place = free_place(bytes);
  if (place == nullptr) return nullptr;
  if (mprotect(place, whole_pages(bytes), PROT_READ | PROT_WRITE) != 0) return nullptr;
  // When time is short, results are wrong anyway, and pages that nobody touches cost nothing.
  const bool is_late = program_launches != nullptr && program_launches->is_late();
  if (!is_late) std::memset(place, 0xff, bytes);
  forget_freed_in(place, whole_pages(bytes));
  const DeviceArray& array = arrays[place] = {last_name(argument), place, bytes, kind};
  allocated += whole_pages(bytes);
  if (opened == 0) protect(array, PROT_NONE);
  return place;
}

bool register_array(void* memory, std::size_t bytes, std::string_view argument) {
  auto* const data = static_cast<char*>(memory);
  const auto overlaps = [&](const auto& entry) {
    return entry.first < data + bytes && data < entry.first + entry.second.bytes;
  };
  if (std::any_of(arrays.begin(), arrays.end(), overlaps)) return false;
  arrays[data] = {last_name(argument), data, bytes, MemoryKind::registered};
  return true;
}

bool free_array(void* memory, MemoryKind kind, MemoryKind or_kind) {
  const auto found = arrays.find(static_cast<char*>(memory));
  if (found == arrays.end()) return false;
  const DeviceArray& array = found->second;
  if (array.kind != kind && array.kind != or_kind) return false;
  if (array.kind != MemoryKind::registered) {
    const std::size_t bytes = whole_pages(array.bytes);
    // The memory goes back, and the addresses stay reserved.
    mmap(
        array.data, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
        0);
    allocated -= bytes;
    freed.insert(*found);
  }
  arrays.erase(found);
  return true;
}

void free_all_arrays() {
  while (!arrays.empty()) {
    const DeviceArray& first = arrays.begin()->second;
    free_array(first.data, first.kind, first.kind);
  }
}

std::vector<GlobalArray> device_arrays() {
  std::vector<GlobalArray> all;
  for (const auto& [data, array] : arrays) {
    all.push_back({array.name.c_str(), data, array.bytes});
    all.back().own_pages = array.kind != MemoryKind::registered;
  }
  return all;
}

std::optional<DeviceArray> array_at(const void* address) {
  const DeviceArray* const found = holder(arrays, address);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

std::optional<DeviceArray> freed_array_at(const void* address, std::uint64_t nearer_than) {
  const auto* const at = static_cast<const char*>(address);
  const auto next = freed.upper_bound(at);
  std::optional<DeviceArray> found;
  if (next != freed.end() && static_cast<std::uint64_t>(next->first - at) < nearer_than) {
    found = next->second;
    nearer_than = static_cast<std::uint64_t>(next->first - at);
  }
  if (next == freed.begin()) return found;
  const DeviceArray& before = std::prev(next)->second;
  const char* const last = before.data + before.bytes - 1;
  const bool is_near = last >= at || static_cast<std::uint64_t>(at - last) < nearer_than;
  return is_near ? before : found;
}

bool is_device_address(const void* address) {
  return range.holds(address);
}

std::size_t most_device_bytes() {
  // A laptop has less than a GPU, and needs half of it for everything else.
  static const std::size_t most = std::min<std::size_t>(
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2,
      std::size_t{8} << 30);
  return most;
}

std::size_t device_bytes() {
  return allocated;
}

OpenDeviceMemory::OpenDeviceMemory() : all_(true) {
  if (++opened > 1) return;
  for (const auto& [data, array] : arrays) protect(array, PROT_READ | PROT_WRITE);
}

OpenDeviceMemory::OpenDeviceMemory(const void* address) {
  const DeviceArray* const array = holder(arrays, address);
  if (opened > 0 || array == nullptr) return;
  only_ = array->data;
  protect(*array, PROT_READ | PROT_WRITE);
}

OpenDeviceMemory::~OpenDeviceMemory() {
  if (only_ != nullptr) protect(arrays.at(only_), PROT_NONE);
  if (!all_ || --opened > 0) return;
  for (const auto& [data, array] : arrays) protect(array, PROT_NONE);
}

void describe_device_address(const void* address, char* words, std::size_t bytes) {
  words[0] = '\0';
  if (!range.holds(address)) return;
  if (const DeviceArray* const array = holder(arrays, address)) {
    std::snprintf(
        words, bytes, "%s, which is in the GPU's memory; cudaMemcpy it to the host first",
        array->name.c_str());
  } else if (const DeviceArray* const old = holder(freed, address)) {
    std::snprintf(words, bytes, "%s, which was freed", old->name.c_str());
  }
}

}  // namespace machine
