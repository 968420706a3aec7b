// Counts of a long product from those of two short ones.
#pragma once

#include "model/counts.h"

namespace model {

// A kernel does the same for every tile along K, so each of its counts grows by as much for every
// whole number of tiles. `near` and `far` are the same blocks' counts of two products that differ
// in K alone; the result is what K = K_near + steps (K_far - K_near) gives. It is exact where both
// are longer than the kernel's pipeline and K keeps the rows' places in their 128-byte lines, that
// is where the difference is a multiple of 32 floats and of the tile. Lines of the source are left
// out, and hazards are those of `far`.
Counts extrapolated(const Counts& near, const Counts& far, std::int64_t steps);

}  // namespace model
