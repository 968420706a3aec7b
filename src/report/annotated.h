// The kernel's own source with what every line of it asks of memory.
#pragma once

#include <string>

#include "lab/run.h"
#include "text/numbers.h"

namespace report {

// Empty where row.counts knows no lines. `folded`: of the source only what accesses memory,
// synchronizes or multiplies, and the lines around it.
std::string annotated_source(const lab::Row& row, text::Style style, bool folded = false);

// A picture of the costliest request of worst_line(): its lanes over the sectors of global memory,
// or over the banks of shared memory. Under it the same of row.remedy. Empty where nothing is
// wasted. Of more than `most_rows` sectors or wavefronts the first are drawn.
std::string worst_request(const lab::Row& row, text::Style style, int most_rows = 8);

}  // namespace report
