// Foreign text (user input, file contents) in the form in which a message may repeat it: nothing in
// it acts on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace text {

inline constexpr int kMostEchoed = 60;  // columns

// `typed` on one line of at most `most` columns, without anything that acts on a terminal. Control
// characters, invisible characters and bytes that are not UTF-8 become \n, \t, \x1b ..., and the
// middle of a longer text becomes "…". Every message that repeats foreign text uses this.
std::string echoed(std::string_view typed, int most = kMostEchoed);

// The lines of a user's source file, in the same form but whole. A tab becomes four blanks, and
// Windows line endings are accepted.
std::vector<std::string> shown_lines(std::string_view source);

// All of `text`, with \n, \x1b and similar for invisible characters. With `with_lines`, line breaks
// are kept.
std::string printable(std::string_view text, bool with_lines = false);

// The length of the well-formed sequence of UTF-8 (RFC 3629) at the start of `text`; 0 if there is
// none.
std::size_t utf8_length(std::string_view text);

}  // namespace text
