// The line of a kernel that wastes most of its requests' cost.
#pragma once

#include <vector>

#include "lab/run.h"

namespace lab {

inline constexpr double kWasteful = 1.05;  // more than a ragged edge explains

// The line that wastes most. Null if no line wastes more than a ragged edge explains. Also null if
// that line is a cp.async, because its two sides together cost more than a picture of one side
// shows.
const model::LineCounts* worst_line(const Row& row);

// The line of `row` with the same access to the same array, possibly as a cp.async. If there are
// several, the worst one. Null if there is none.
const model::LineCounts* same_request(const Row& row, const model::LineCounts& line);

// The same counts, summed by array: `line` is 0.
std::vector<model::LineCounts> by_array(const model::Counts& counts);

const char* name_of(model::Direction direction);  // "load", "store" or "copy"

// Wavefronts or sectors divided by those that are neither bank conflicts nor uncoalesced; at
// least 1.
double waste(const model::LineCounts& line);

}  // namespace lab
