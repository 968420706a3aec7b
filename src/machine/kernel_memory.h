// The memory that a kernel's threads may touch on one thread of the operating system.
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

// An array whose accesses count under its name.
struct KernelArray {
  std::string name;
  std::uintptr_t begin;
  std::size_t bytes;
  bool shared;
  bool result = false;  // no element of it may be written by two threads
  // Of a shared array of a function that the kernel may call, if it was compiled as one: the place
  // of that function. Who never came there has no business in the array.
  CodePlace owner = 0, owner_bytes = 0;
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
  bool holds(std::uintptr_t address, std::size_t access_bytes) const {
    return holds(address) && bytes - (address - begin) >= access_bytes;
  }
};

struct KernelMemory {
  std::vector<KernelArray> arrays;     // an address belongs to the first that holds it
  std::vector<MemoryRange> uncounted;  // what is none of the arrays and may be read all the same
  bool uncounted_may_be_stored_to;
  MemoryRange stacks;                  // of all fibers: registers and local memory
  MemoryRange code;                    // of the kernel itself
};

// The executable's thread-local variables of this OS thread. A kernel's own among them are its
// __shared__ arrays, and of the others it sees only the built-ins, whose reads are not announced.
std::span<const std::byte> thread_locals();

// threadIdx and its kin: on the GPU registers, but a reference to one is read like memory.
std::vector<MemoryRange> built_in_variables();

// All memory that counts, on this OS thread: the matrices, what cudaMalloc gave, and the kernel's
// shared memory.
std::vector<KernelArray> arrays_of(
    const void* kernel, int dynamic_bytes, std::span<const GlobalArray> global);

// The program itself, with its constants and __device__ variables, and the frame of launch(), where
// the kernel's arguments are.
std::vector<MemoryRange> uncounted_memory(const void* frame);

// An access of `bytes` that lies in none of `arrays`, told by the nearest of them. `places` as in
// Hazard::Actor.
model::Hazard out_of_bounds(
    std::span<const KernelArray> arrays, std::uintptr_t address, int bytes, std::int64_t block,
    const model::Hazard::Actor& actor);

}  // namespace machine
