// User input and file contents, in the form in which a message may repeat them.
#pragma once

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

}  // namespace text
