// What the columns of the table mean.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "lab/run.h"

namespace report {

// Under the table, in at most six lines: what a reader of this run's table has to know. `left_out`
// names the columns for which the terminal is too narrow.
std::string short_legend(const lab::Run& run, const std::vector<std::string>& left_out);

// --legend: all columns and signs, those of --wide included.
void print_legend(std::FILE* out);

}  // namespace report
