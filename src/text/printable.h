// Text of somebody else's so that nothing in it acts on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace text {

// The first character of `rest` as it is shown, and how many bytes it takes: the next one only of
// what has no shape.
struct Sign {
  std::string shown;
  std::size_t bytes;
};
Sign first_sign(std::string_view rest);

// All of `text`, with \n, \x1b and the like for what has no shape; line breaks stay where they are
// where it is `with_lines`.
std::string printable(std::string_view text, bool with_lines = false);

}  // namespace text
