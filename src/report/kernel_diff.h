// What changed from one kernel to the next, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace report {

// A line of one text or of both. Lines are counted from 1; 0 where the text does not have it.
struct DiffLine {
  int before, after;
  std::string text;  // of the later text where both have it
};

// A shortest way from one text to the other: what both have in the same order (a longest common
// subsequence) stands once, and of a place that differs the lines of `before` come first. Lines are
// the same where they are but for the blanks around them.
std::vector<DiffLine> line_diff(
    const std::vector<std::string>& before, const std::vector<std::string>& after);

// Only lines that changed, with `context` lines that both have around each; a line with neither
// number stands for what was left out between. A line that only one has and that is blank or a
// brace is no change.
std::vector<DiffLine> shortened_diff(const std::vector<DiffLine>& diff, int context);

}  // namespace report
