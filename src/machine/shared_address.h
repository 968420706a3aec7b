// Addresses in shared memory as the numbers of 32 bits that instructions take. Dynamic shared
// memory has the addresses from 0 on; a kernel's other arrays have theirs before or after it, in
// the same distances as on this thread of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace machine {

// Faults if the pointer is not into an array of shared memory, or just behind one.
std::uint32_t shared_address_of(const void* pointer, const void* place);

char* pointer_to_shared(std::uint32_t address);

// Whether the pointer is into memory of which arrays in shared memory are a part.
bool is_shared_memory(const void* pointer);

}  // namespace machine
