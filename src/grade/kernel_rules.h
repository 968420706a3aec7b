// What the code of a student's kernel may hold: what the tracer can see, and nothing that reaches
// for the grader around it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "grade/lines.h"

namespace grade {

// The functions that a skeleton defines, calls or includes, but for kernels and the host's.
std::set<std::string> helpers_in(const std::vector<std::string>& skeleton);

// Refuses the lines of the file `name` where they hold what is not for kernels: preprocessor lines
// but #pragma unroll, inline PTX, attributes, names of the C++ library, calls of anything but
// CUDA's functions, the skeleton's helpers and what the code itself declares, text in quotes,
// static variables, a brace that closes more than was opened.
void check_kernel_code(
    const std::vector<std::string>& lines, Range range, const std::string& name,
    const std::set<std::string>& helpers);

}  // namespace grade
