// The kernel's own source: the requests of every line, why each costs what it costs, and the
// changes from one kernel to the next.
#pragma once

#include <string>
#include <vector>

#include "lab/run.h"
#include "show/pictures/block_requests.h"
#include "text/numbers.h"

namespace report {

using pictures::WarpRequest;

// One sentence, from the request alone. It ends with its sectors and how many of their bytes are
// used, or with its wavefronts and their reason: "32 lanes want 4 bytes in each of 32 rows:
// 32 sectors, and 4 bytes of each are used."
std::string request_sentence(const WarpRequest& request);

// Empty if row.counts has no lines. `folded`: only the lines that access memory, synchronize or
// multiply, and the lines around them.
std::string annotated_source(const lab::Row& row, text::Style style, bool folded = false);

// The accesses of each line, without the source, in the order of the lines. Where the next lines do
// the same, only the first stands there.
std::string accesses_by_line(const lab::Row& row, text::Style style);

// A picture of the costliest request of worst_line(): its lanes over the sectors of global memory,
// or over the banks of shared memory. Below it is the same for row.remedy. Empty if nothing is
// wasted. Of more than `most_rows` sectors or wavefronts only the first are drawn.
std::string worst_request(const lab::Row& row, text::Style style, int most_rows = 8);

// A line of one text or of both. Lines are counted from 1; 0 if the text does not have it.
struct DiffLine {
  int before, after;
  std::string text;  // of the later text if both have it
};

// A shortest sequence of changes from one text to the other: the lines of a longest common
// subsequence appear once, and where the texts differ the lines of `before` come first. Lines are
// equal if they differ only in the blanks around them.
std::vector<DiffLine> line_diff(
    const std::vector<std::string>& before, const std::vector<std::string>& after);

// Only lines that changed, with `context` common lines around each. A line without numbers marks an
// omission. A blank line or a brace that only one text has does not count as a change.
std::vector<DiffLine> shortened_diff(const std::vector<DiffLine>& diff, int context);

}  // namespace report
