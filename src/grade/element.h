// The elements of an exercise's matrices, named as its page names them.
#pragma once

#include <cstdint>
#include <string>

#include "grade/exercise.h"

namespace grade {

// "A(57, 0)", or "x[57]" of a vector: the element of the matrix, 0 for A to 2 for C, that is
// `at` floats after its start in memory.
std::string element_text(const Case& c, int matrix, std::int64_t at);

// Why there is none, to stand behind it: ", row 57; A has rows 0 to 56".
std::string bounds_text(const Case& c, int matrix, std::int64_t at);

}  // namespace grade
