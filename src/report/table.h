// A run as a table for readers.
#pragma once

#include <cstdio>

#include "lab/run.h"
#include "text/numbers.h"

namespace report {

// A row each, with a header and a short legend. As wide as the report; where the columns need more,
// those that matter least are left out, and the legend says which. `wide`: all columns, and more of
// them, however wide that is. Colour marks what changed most since the stage before.
void print_table(std::FILE* out, const lab::Run& run, text::Style style, bool wide = false);

}  // namespace report
