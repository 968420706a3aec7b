// The kernel's own source: what every line asks of memory, and what changed from one kernel to the
// next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/run.h"
#include "text/numbers.h"

namespace report {

// Empty where row.counts knows no lines. `folded`: of the source only what accesses memory,
// synchronizes or multiplies, and the lines around it.
std::string annotated_source(const lab::Row& row, text::Style style, bool folded = false);

// The accesses of each line, without the source, in the order of the lines. Where the next lines do
// the same, only the first stands there.
std::string accesses_by_line(const lab::Row& row, text::Style style);

// A picture of the costliest request of worst_line(): its lanes over the sectors of global memory,
// or over the banks of shared memory. Under it the same of row.remedy. Empty where nothing is
// wasted. Of more than `most_rows` sectors or wavefronts the first are drawn.
std::string worst_request(const lab::Row& row, text::Style style, int most_rows = 8);

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
