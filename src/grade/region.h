// The part of a kernel file that is a student's own: cut out of their file, checked, and put into
// the grader's copy of the skeleton. Nothing else of their file is compiled.
#pragma once

#include <string>

#include "model/refusal.h"

namespace grade {

// The lines that stand around a region; spaces before and behind them do not count. A file may have
// several regions.
inline constexpr const char* kRegionBegins = "// ---- your code ----";
inline constexpr const char* kRegionEnds = "// ---- end of your code ----";

// What assembled() throws where all regions of an answer are empty.
struct NothingWritten : model::Refusal {
  using Refusal::Refusal;
};

// `skeleton` with the regions of `answer`, and with #line directives, so that what a compiler or a
// debugger says points into the file `answer_name`. Throws a Refusal that begins with that name and
// the line where the answer has other regions than the skeleton, or where a region holds what is
// not for kernels (grade/kernel_rules.h).
std::string assembled(
    const std::string& skeleton, const std::string& answer, const std::string& answer_name);

// `kernel` with nothing in its regions, as a skeleton has them.
std::string emptied(const std::string& kernel);

}  // namespace grade
