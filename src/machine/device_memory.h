// cudaMalloc's memory on the CPU: plain memory, counted as global memory under a name.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "machine/grid.h"

namespace machine {

// All allocations that were not freed. Valid until the next call of simt::device_malloc or
// device_free (cuda/runtime.h).
std::vector<GlobalArray> device_arrays();

}  // namespace machine
