// What cudaMalloc stands for on the CPU: plain memory, counted as global memory under a name.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace simt {

// `bytes` bytes at a multiple of 256, as cudaMalloc gives them, all of them 0xff (floats: NaN), so
// that what is read before it is written shows. `argument` is how the pointer was handed over,
// "(void**)&partial": its last name is the array's. Null where there is not so much memory, or
// where 0 bytes are asked for. Called by a kernel it is a fault.
void* device_malloc(std::size_t bytes, std::string_view argument);

// False where `memory` is not of device_malloc; null is, as in free().
bool device_free(void* memory);

// All that was allocated and not freed. Valid until the next call of the two above.
std::vector<GlobalArray> device_arrays();

}  // namespace simt
