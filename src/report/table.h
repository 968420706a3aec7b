// A run as a table for readers.
#pragma once

#include <cstdio>

#include "lab/run.h"
#include "text/style.h"

namespace report {

// A row each, at most 100 columns wide, with a header and a legend.
void print_table(std::FILE* out, const lab::Run& run, text::Style style);

}  // namespace report
