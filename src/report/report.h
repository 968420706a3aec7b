// Everything the program prints about a run. Plain data in, text out.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/stage.h"
#include "report/format.h"
#include "text/style.h"

namespace report {

// Problem, GPU, driver and command, a line each: what a recorded table has to tell.
std::string about(const lab::Run& run);

// A row each, at most 100 columns wide, with a header and a legend.
void print_table(std::FILE* out, const lab::Run& run, text::Style style);

// One object: problem, gpu, stages[], yardsticks[]. What is not known is null, never left out.
void print_json(std::FILE* out, const lab::Run& run);

// The same facts, a line a row, after a line of names (RFC 4180).
void print_csv(std::FILE* out, const lab::Run& run);

// How a stage is explained.
struct Explaining {
  std::vector<std::string> sections = {};  // of explained_sections(); empty: all but "answers"
  bool markdown = false;
  std::FILE* ask_from =
      nullptr;  // predictions are asked for, and read from there (src/report/predictions.h)
};

// The names of the sections, in the order in which they are printed.
std::span<const char* const> explained_sections();

// One stage in depth; print_table's facts and the reasons behind them, in at most 150 lines where
// all sections are printed; a section on its own is not shortened. `row` is one of `run`'s. Returns
// false where the reader gave no more predictions, and so no counts were printed.
bool explain(
    std::FILE* out, const lab::Run& run, const lab::Row& row, text::Style style,
    const Explaining& how = {});

// What there is to run: every stage with its variants.
void print_list(std::FILE* out, std::span<const model::Stage> stages, Format format);

}  // namespace report
