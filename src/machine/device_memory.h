// The memory that the program's host code gets from CUDA: the GPU's own (cudaMalloc), and memory
// that host and GPU share. On the CPU it is plain memory, counted as global memory under a name.
//
// All of it lies in one range of addresses that is reserved before main, with room around each
// array. So an access past an array's end meets no other memory, and any address is known to be
// the GPU's or not. As on a GPU, host code that accesses the GPU's own memory crashes: its pages
// are closed unless a kernel or a CUDA function runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/grid.h"

namespace machine {

enum class MemoryKind {
  device,     // of the GPU
  managed,    // of both
  pinned,     // of the host, and accessible to the GPU
  registered  // the same, but allocated by the program itself
};

struct DeviceArray {
  std::string name;
  char* data;
  std::size_t bytes;
  MemoryKind kind;
  bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(data) <
           bytes;
  }
};

// `bytes` bytes, more than 0, at a multiple of 4096. All bytes are 0xff (floats: NaN), so that a
// read before the first write is visible. `argument` is the source text of the pointer argument,
// "(void**)&partial"; its last name becomes the array's name. Returns null if there is not enough
// memory.
void* allocate_array(std::size_t bytes, std::string_view argument, MemoryKind kind);

// `memory` is the program's own, and the GPU may access it until it is freed here. Returns whether
// no part of it was registered before.
bool register_array(void* memory, std::size_t bytes, std::string_view argument);

// Returns false if `memory` is not the start of an array of one of these kinds.
bool free_array(void* memory, MemoryKind kind, MemoryKind or_kind);

void free_all_arrays();

// All arrays that were not freed. Valid until the next array is allocated or freed.
std::vector<GlobalArray> device_arrays();

// The array that contains this address.
std::optional<DeviceArray> array_at(const void* address);
// The array that contained it, or that was less than `nearer_than` bytes away, and was freed.
std::optional<DeviceArray> freed_array_at(const void* address, std::uint64_t nearer_than = 1);
// Whether the address is in the range reserved for arrays.
bool is_device_address(const void* address);

// How much can be allocated in all, and how much is.
std::size_t most_device_bytes();
std::size_t device_bytes();

// While this object exists, host code can access the GPU's own memory: all of it, or the array that
// contains an address.
class OpenDeviceMemory {
 public:
  OpenDeviceMemory();
  explicit OpenDeviceMemory(const void* address);
  ~OpenDeviceMemory();
  OpenDeviceMemory(const OpenDeviceMemory&) = delete;
  OpenDeviceMemory& operator=(const OpenDeviceMemory&) = delete;

 private:
  const bool all_ = false;
  const char* only_ = nullptr;
};

// Writes what is at an address that host code cannot access: "d_A, which is in the GPU's memory;
// cudaMemcpy it to the host first"; nothing if it is not the GPU's. May be called from a signal
// handler.
void describe_device_address(const void* address, char* words, std::size_t bytes);

}  // namespace machine
