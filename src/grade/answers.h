// What a student answers in words and formulas, beside the kernel.
#pragma once

#include <map>
#include <string>

namespace grade {

// The lines `answer NAME: TEXT` of a file, also where they stand in a comment, by their names.
// Lines without a text are left out. Of a long one the begin is kept, and what cannot be printed
// becomes a question mark.
std::map<std::string, std::string> answers_in(const std::string& file);

}  // namespace grade
