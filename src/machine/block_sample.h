// The blocks that represent a grid when not all of it is traced.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/runtime.h"

namespace machine {

// Linear indices, in order: the first block, the middle one, and the last of a row, of a column and
// of the grid, where the edges of C are. For a small grid the sample is the whole grid.
std::vector<std::int64_t> sample_of(simt::Extent grid);

}  // namespace machine
