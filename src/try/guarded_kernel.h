// What a guard knows of kernels: which thread runs, how its faults are told, which lines are not
// ours. For everybody's file and for answers to exercises alike.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "guard/guard.h"

namespace attempt {

// A guard that watches a host function `name` and the kernels that it launches. In its children
// trace/source_lines.h asks the parent for lines, so that they need start no process.
guard::Guard kernel_guard(
    double limit_s, const std::string& said_by, const std::string& name = "sgemm");

// guard::lock() in the child of such a guard, after what a run of kernels reads from files: the
// program, and the files that it was compiled from.
void lock_kernels_child(std::size_t fresh_threads, const std::vector<std::string>& sources);

}  // namespace attempt
