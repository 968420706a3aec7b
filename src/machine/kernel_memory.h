// The memory that a kernel's threads may access on one thread of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine/code_place.h"
#include "machine/grid.h"
#include "model/counts.h"

namespace machine {

struct MemoryRange {
  std::uintptr_t begin;
  std::size_t bytes;
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
};

// An array whose accesses are counted under its name.
struct KernelArray {
  std::string name;
  std::uintptr_t begin;
  std::size_t bytes;
  bool shared;
  bool result = false;    // no two threads may write the same element
  bool watched = false;   // hazards are looked for in it: the result, and memory from cudaMalloc
  bool own_pages = true;  // nothing else lies in its pages
  // For a shared array of a separately compiled function that the kernel may call: the place of
  // that function. A thread that never entered the function must not access the array.
  CodePlace owner = 0, owner_bytes = 0;
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
  bool holds(std::uintptr_t address, std::size_t access_bytes) const {
    return holds(address) && bytes - (address - begin) >= access_bytes;
  }
};

struct KernelMemory {
  std::vector<KernelArray> arrays;     // an address belongs to the first array that contains it
  std::vector<MemoryRange> uncounted;  // outside of the arrays, but may be read
  bool uncounted_may_be_stored_to;
  bool has_host_variables;  // which may not be accessed, although they lie in `uncounted`
  MemoryRange stacks;       // the stacks of all fibers: registers and local memory
  MemoryRange code;         // the kernel's own arrays
};

// The executable's thread-local variables of this thread of the operating system. They include the
// kernel's __shared__ arrays. Of the others a kernel sees only the built-ins, whose reads are not
// announced.
std::span<const std::byte> thread_locals();

// Dynamic shared memory of the blocks on this thread, which has the shared addresses from 0 on.
char* dynamic_shared_memory();

// threadIdx and the other built-in variables. On the GPU they are registers, but a read through a
// reference looks like a read of memory.
std::vector<MemoryRange> built_in_variables();

// All counted memory on this thread of the operating system: the matrices, memory from cudaMalloc,
// and the kernel's shared memory.
std::vector<KernelArray> arrays_of(
    const void* kernel, int dynamic_bytes, std::span<const GlobalArray> global);

// The program itself, with its constants and __device__ variables, and the kernel's arguments.
std::vector<MemoryRange> uncounted_memory(const void* arguments, std::size_t bytes);

// A hazard for an access of `bytes` outside of all `arrays`, described by the memory that it
// reaches, else by the nearest array. `places` as in Hazard::Actor.
model::Hazard out_of_bounds(
    std::span<const KernelArray> arrays, std::uintptr_t address, int bytes, std::int64_t block,
    const model::Hazard::Actor& actor);

}  // namespace machine
