// Computes the counts of a long product from those of two short ones.
#pragma once

#include "model/counts.h"

namespace model {

// A kernel does the same for every tile along K, so each of its counts grows linearly with the
// number of tiles. `near` and `far` are the counts of the same blocks for two products that differ
// only in K. The result is for K = K_near + steps (K_far - K_near). It is exact if both products
// are longer than the kernel's pipeline, and if K does not change the rows' alignment to 128-byte
// lines, that is, if the difference is a multiple of 32 floats and of the tile. The counts of
// source lines are omitted, and the hazards are those of `far`.
Counts extrapolated(const Counts& near, const Counts& far, std::int64_t steps);

}  // namespace model
