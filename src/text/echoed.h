// What somebody typed, or what a file holds, as a message may repeat it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace text {

inline constexpr int kMostEchoed = 60;  // columns

// `typed` on one line of at most `most` columns, where nothing acts on a terminal: control
// characters, invisible ones and bytes that are no UTF-8 become \n, \t, \x1b ..., and the middle of
// what is longer becomes "…". Every message that repeats what is not the program's own says it like
// this.
std::string echoed(std::string_view typed, int most = kMostEchoed);

// The lines of somebody's source file, likewise, but whole; a tab is four blanks, and Windows' ends
// of lines are ends of lines.
std::vector<std::string> shown_lines(std::string_view source);

}  // namespace text
