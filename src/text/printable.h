// Foreign text, made so that nothing in it acts on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace text {

// The first character of `rest` in printable form, and the number of bytes that it takes. A
// character that is not visible is shown byte by byte.
struct Sign {
  std::string shown;
  std::size_t bytes;
};
Sign first_sign(std::string_view rest);

// All of `text`, with \n, \x1b and similar for invisible characters. With `with_lines`, line breaks
// are kept.
std::string printable(std::string_view text, bool with_lines = false);

}  // namespace text
