// --explain: one stage in depth, section by section.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "flags/flags.h"
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

std::string paragraph(std::string_view words);

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

}  // namespace report
