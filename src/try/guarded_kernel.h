// What a guard needs to know about kernels: which thread runs, how to report its faults, and which
// source lines are the user's. For users' files and for answers to exercises.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "guard/guard.h"

namespace attempt {

// A guard for a host function `name` and the kernels that it launches. In its children,
// trace/source_lines.h asks the parent for lines, so that they need not start a process.
guard::Guard kernel_guard(
    double limit_s, const std::string& said_by, const std::string& name = "sgemm");

// The user's line, "my.cu:12", of the innermost of these return addresses that is in the user's
// code; nothing if there is none.
std::string line_of_user(const std::vector<const void*>& frames);

// Calls guard::lock() in the child of such a guard, after reading the files that a run of kernels
// needs: the program, and its source files.
void lock_kernels_child(std::size_t fresh_threads, const std::vector<std::string>& sources);

}  // namespace attempt
