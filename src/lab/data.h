// Random matrices with other distributions than random_problem's.
#pragma once

#include <cstdint>

#include "lab/problem.h"

namespace lab {

// Gives A and B, which are uniform in [-1, 1), that distribution. The same seed gives the same
// values on every machine, up to the last bits of its logarithms and cosines.
void distribute(Data data, std::uint64_t seed, Problem& problem);

}  // namespace lab
