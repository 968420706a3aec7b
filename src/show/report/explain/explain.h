// --explain: one stage in depth, section by section.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "flags/flags.h"
#include "show/pictures/block_requests.h"
#include "show/report/known.h"
#include "text/numbers.h"

namespace report {

// One stage in depth; print_table's facts and the reasons behind them, in at most 150 lines where
// all sections are printed; a section on its own is not shortened. `row` is one of `run`'s. Returns
// false where the reader gave no more predictions, and so no counts were printed.
bool explain(
    std::FILE* out, const lab::Run& run, const lab::Row& row, text::Style style,
    const flags::Explaining& how = {});

// How the sections of an explanation put their words.
inline constexpr int kIndent = 2;
inline constexpr int kLabel = 16;  // columns of what stands left of a section's facts

// With the blank line before it.
std::string heading(const std::string& text, text::Style style);

// A label and its fact. A long fact goes on below, under where it began.
std::string fact(std::string_view label, std::string_view words);

// What a line of a table means, under it.
std::string verdict(std::string_view words);

struct Explained {
  const Known& known;
  const lab::Run& run;
  const lab::Row& row;
  text::Style style;
  bool whole;  // all sections are printed together, each at its short length
  flags::Format format;
};

// A part of a section: a blank line, a heading and lines, or a table of Markdown.
struct SectionPart {
  std::string text;
  enum Kind { plain, prose, diff, table } kind = plain;
};
using SectionParts = std::vector<SectionPart>;

// Each is empty where the row has nothing of the kind. What the whole leaves out:
SectionParts explain_kernel(const Explained& explained);  // lines that touch no memory
SectionParts explain_tiles(const Explained& explained);   // sizes that the picture says as well
SectionParts explain_counts(const Explained& explained);  // where predictions come from
SectionParts explain_occupancy(const Explained& explained);
SectionParts explain_ceiling(const Explained& explained);  // what the compiler makes of the loop

// Parts of these that also have names.
SectionParts explain_loads(const Explained& explained);  // of kernel and counts, in short
SectionParts explain_launch(const Explained& explained);
SectionParts explain_swizzle(const Explained& explained);
SectionParts explain_thread(const Explained& explained);
SectionParts explain_instructions(const Explained& explained);

// The kernel's own source: the requests of every line, why each costs what it costs, and the
// changes from one kernel to the next.

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
// wasted. Of more than `most_rows` lines of sectors, or wavefronts, only the first are drawn.
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
