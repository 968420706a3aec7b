// A run as a table for readers: its columns, their layout and the legend; and the list of stages.
#pragma once

#include <cstdio>
#include <span>

#include "flags/flags.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "show/report/known.h"
#include "text/numbers.h"

namespace report {

// --legend: all columns and signs, those of --wide included.
void print_legend(std::FILE* out);

// One line per row, with a header and a short legend, as wide as the report. If the columns need
// more, the least important ones are left out, and the legend names them. `wide`: all columns, and
// further ones, however wide that is. Colour marks what changed most since the stage before.
void print_table(std::FILE* out, const KnownRun& known, text::Style style, bool wide = false);

// The product for which variants are chosen: C (M x N) on this GPU.
struct ChoiceFor {
  model::Gpu gpu;
  int M, N, K;
};

// Every stage with its variants: which of them can be chosen by size, and which one is.
void print_list(
    std::FILE* out, std::span<const model::Stage> stages, const ChoiceFor& choice,
    flags::Format format);

}  // namespace report
