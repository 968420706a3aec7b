// What a student's kernel may contain: only code that the tracer can see, and nothing that could
// attack the grader.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "school/grade/answer.h"

namespace grade {

// The functions that a skeleton defines, calls or includes, except kernels and host functions. And
// "name." for each object of a class of its own, which an answer may only use by calls of
// functions.
std::set<std::string> helpers_in(const std::vector<std::string>& skeleton);

// Refuses lines of the file `name` that a kernel may not have: preprocessor lines except #pragma
// unroll, inline PTX, attributes, names of the C++ library, calls of other functions than CUDA's,
// the skeleton's helpers and the code's own, text in quotes, static variables, and unmatched
// closing braces.
void check_kernel_code(
    const std::vector<std::string>& lines, LineRange range, const std::string& name,
    const std::set<std::string>& helpers);

}  // namespace grade
