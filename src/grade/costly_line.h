// Which line of a kernel has most to do with a target that it misses.
#pragma once

#include <string>

#include "grade/exercise.h"

namespace grade {

// The phase and the place of a complaint about that target: the line with the greatest excess over
// what the target allows it; where none exceeds that, the one whose warps have idle lanes; and
// where there is none either, the one with the most accesses. The counts must have their lines.
Complaint complaint_about_cost(const Case& c, const Target& target);

// For hints: the line with the most accesses of that kind to that array, and how many they are.
std::string most_accesses(const Case& c, const std::string& array, model::Direction direction);

}  // namespace grade
