// From places in the program to lines of gemm_steps.cu, by binutils' addr2line.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "model/counts.h"

namespace simt {

// The source that the kernels were compiled from, as it was then.
std::string_view kernel_source();

struct SourceRange {
  int first, last;  // lines, from 1
};

// The lines of the kernel at `kernel`, a function compiled for the CPU; {0, 0} where they cannot be
// found: without addr2line or without debug information.
SourceRange kernel_lines(const void* kernel);

// Gives every one of `lines` its line of `kernel`: the innermost of the calls that led to it which
// still stands in the kernel, so that an access inside a helper belongs to the line that calls it.
// What then is the same line, array, direction and width becomes one; sorted by line.
void resolve_lines(std::vector<LineCounts>& lines, const SourceRange& kernel);

// The same for hazards; sorted by kind and lines, and each pair of lines once.
void resolve_lines(std::vector<Hazard>& hazards, const SourceRange& kernel);

}  // namespace simt
