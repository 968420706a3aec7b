// Everything the program prints about a run. Plain data in, text out.
#pragma once

#include <cstdio>
#include <span>
#include <string>

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

// What there is to run: every stage with its variants.
void print_list(std::FILE* out, std::span<const model::Stage> stages, Format format);

}  // namespace report
