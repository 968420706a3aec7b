// The sections of an explanation, a file each.
#pragma once

#include <string>
#include <vector>

#include "lab/run.h"
#include "report/format.h"
#include "text/numbers.h"

namespace report {

struct Explained {
  const lab::Run& run;
  const lab::Row& row;
  text::Style style;
  bool whole;  // all sections are printed together, each at its short length
  Format format;
};

// A part of a section: a blank line, a heading and lines, or a table of Markdown.
struct Part {
  std::string text;
  enum Kind { plain, prose, diff, table } kind = plain;
};

// Each is empty where the row has nothing of the kind. What the whole leaves out:
std::vector<Part> explain_idea(const Explained& explained);
std::vector<Part> explain_diff(const Explained& explained);    // unchanged lines, all but the first
std::vector<Part> explain_kernel(const Explained& explained);  // lines that touch no memory
std::vector<Part> explain_tiles(const Explained& explained);  // sizes that the picture says as well
std::vector<Part> explain_counts(const Explained& explained);  // where predictions come from
std::vector<Part> explain_occupancy(const Explained& explained);
std::vector<Part> explain_ceiling(
    const Explained& explained);  // what the compiler makes of the loop
std::vector<Part> explain_time(const Explained& explained);
std::vector<Part> explain_questions(const Explained& explained);
std::vector<Part> explain_answers(const Explained& explained);  // all of it

// The part of the tiles that is about their places in shared memory; empty if none is swizzled. The
// whole has only the rule.
std::string swizzles_of(const Explained& explained);

// The part of the idea that splits a float into two tf32 numbers; empty if the stage does not. The
// whole leaves it out.
std::string split_of(const Explained& explained);

// The part of the kernel about its loads from shared memory: as nvcc compiled them, or which of
// them it may merge. Empty for a stage, and if there is nothing of the kind.
std::string shared_loads_of(const lab::Row& row, text::Style style);

// The part of the counts that is about warps.
std::string requests_of_warps(const model::Counts& counts, text::Style style);

}  // namespace report
