// Addresses in shared memory as the numbers of 32 bits that instructions take. Dynamic shared
// memory has the addresses from 0 on, as far as the launch has it. A kernel's own arrays follow.
// Like a GPU's, all have less than 18 bits, as many as a descriptor of wgmma has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "machine/kernel_memory.h"

namespace machine {

// Faults if the pointer is not into an array of shared memory, or just behind one.
std::uint32_t shared_address_of(const void* pointer, const void* place);

// An address that is in no array leads behind the one before it.
char* pointer_to_shared(std::uint32_t address);
// The same for the block to which these arrays belong.
char* pointer_to_shared(std::uint32_t address, std::span<const KernelArray> arrays);

// The array that holds these bytes of shared memory from there on; null if there is none.
const KernelArray* shared_array_at(const void* pointer, std::size_t bytes);

// Whether the pointer is into memory of which arrays in shared memory are a part.
bool is_shared_memory(const void* pointer);

}  // namespace machine
