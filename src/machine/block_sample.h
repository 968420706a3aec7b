// The blocks that stand for a grid where not all of it is traced.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/runtime.h"

namespace machine {

// Linear indices, in order: the first block, the middle one, and the last of a row, of a column and
// of all, where the edges of C are. A small grid is its own sample.
std::vector<std::int64_t> sample_of(simt::Extent grid);

}  // namespace machine
