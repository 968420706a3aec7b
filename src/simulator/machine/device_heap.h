// What kernels get from malloc and new: pieces of one array in the GPU's memory, whose size is
// cudaLimitMallocHeapSize.
#pragma once

#include <cstddef>
#include <optional>

#include "simulator/machine/memory.h"

namespace machine {

inline std::size_t heap_bytes = std::size_t{8} << 20;  // CUDA's default
inline bool kernels_may_allocate = false;              // set before the first launch

// Before a launch. The heap stays until the program ends.
void make_heap();

// The running thread's. Null if the heap has no room left. `place` is the call's.
void* allocate_in_kernel(std::size_t bytes, const void* place);
// A fault unless it is the beginning of a piece that was not freed.
void free_in_kernel(void* memory, const void* place);

// An access to the heap that is not within a piece: the nearest piece. Freed memory counts as a
// piece until it is given away again, because accesses are looked at later than they are made.
std::optional<KernelArray> piece_missed(
    const KernelArray& array, std::uintptr_t address, std::size_t bytes);

// What no kernel has freed: how many pieces, bytes, and where the first was allocated.
struct NeverFreed {
  std::size_t pieces = 0, bytes = 0;
  const void* place = nullptr;
};
NeverFreed never_freed();

}  // namespace machine
