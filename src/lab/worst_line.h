// Which line of a kernel wastes most of what it asks for.
#pragma once

#include <vector>

#include "lab/run.h"

namespace lab {

inline constexpr double kWasteful = 1.05;  // more than a ragged edge explains

// The line that wastes most, null where none wastes more than a ragged edge explains, and where it
// is a cp.async: its two sides cost together what no picture of one shows.
const model::LineCounts* worst_line(const Row& row);

// The line of `row` that does the same to the same array, be it by cp.async: of several the worst.
// Null where there is none.
const model::LineCounts* same_request(const Row& row, const model::LineCounts& line);

// The same counts, by array: `line` is 0.
std::vector<model::LineCounts> by_array(const model::Counts& counts);

const char* name_of(model::Direction direction);  // "load", "store" or "copy"

// Wavefronts or sectors for each one that is neither a bank conflict nor uncoalesced; at least 1.
double waste(const model::LineCounts& line);

}  // namespace lab
