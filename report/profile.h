// Nsight Compute's counts beside the traced ones.
#pragma once

#include <cstdio>
#include <istream>
#include <string>

#include "report/report.h"

// What `ncu --metrics` has to be given, separated by commas.
std::string ncu_metrics();

// Reads what `ncu --csv --page raw --metrics ...` printed, together with whatever the profiled
// program printed, and writes for every kernel of `traced` a line a metric. Returns whether each
// row of `traced` with counts is there and all requests and sectors of global memory are equal.
// Throws Refusal where the input is no such CSV, or a row of `traced` is not traced in full.
bool print_profile(std::FILE* out, std::istream& ncu_csv, const Run& traced);
