// What a student's kernel may contain: only code that the tracer can see, and nothing that could
// attack the grader.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "school/grade/answer.h"

namespace grade {

// The objects of a skeleton's own classes, which an answer may only use by calls of functions.
std::set<std::string> objects_in(const std::vector<std::string>& skeleton);

// Refuses lines of the file `name` that a kernel may not have: preprocessor lines except #pragma
// unroll, inline PTX, attributes, names of the C++ library and of the compiler, what exchanges
// values between threads, text in quotes, static variables, and unmatched closing braces. What the
// code calls is checked in its object file (refused.sh).
void check_kernel_code(
    const std::vector<std::string>& lines, LineRange range, const std::string& name,
    const std::set<std::string>& objects);

}  // namespace grade
