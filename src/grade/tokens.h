// C++ as far as the grader reads it: names, numbers and signs.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "grade/lines.h"

namespace grade {

struct Token {
  std::string text;
  std::size_t line;
  bool is(std::string_view what) const { return text == what; }
  bool is_name() const {
    return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_';
  }
};

// The tokens of some lines of the file `name`; comments are left out. Refuses what could hide
// something from us: preprocessor lines but #pragma unroll, backslashes outside of comments and at
// the ends of lines, control characters, text in quotes.
std::vector<Token> tokens_of(
    const std::vector<std::string>& lines, Range range, const std::string& name);

}  // namespace grade
