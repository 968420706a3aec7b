// What a guard knows of kernels: which thread runs, how its faults are told, which lines are not
// ours. For everybody's file and for answers to exercises alike.
#pragma once

#include "guard/guard.h"

namespace attempt {

// A guard that watches a host function `name` and the kernels that it launches. In its children
// trace/source_lines.h asks the parent for lines and texts, so that they need start no process and
// open no file.
guard::Guard kernel_guard(
    double limit_s, const std::string& said_by, const std::string& name = "sgemm");

// guard::lock(), in the child of such a guard, after what a run of kernels reads from files.
void lock_kernels_child(std::size_t fresh_threads);

}  // namespace attempt
