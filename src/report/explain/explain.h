// --explain: one stage in depth.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/run.h"
#include "text/numbers.h"

namespace report {

// How a stage is explained.
struct Explaining {
  std::vector<std::string> sections = {};  // of explained_sections(); empty: all but "answers"
  bool markdown = false;
  std::FILE* quiz_from = nullptr;  // where the reader's predictions come from (src/report/quiz.h)
};

// The names of the sections, in the order in which they are printed.
std::span<const char* const> explained_sections();

// One stage in depth; print_table's facts and the reasons behind them, in at most 150 lines where
// all sections are printed; a section on its own is not shortened. `row` is one of `run`'s. Returns
// false where the reader gave no more predictions, and so no counts were printed.
bool explain(
    std::FILE* out, const lab::Run& run, const lab::Row& row, text::Style style,
    const Explaining& how = {});

}  // namespace report
