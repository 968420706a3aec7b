// What nvcc made of a tried file's kernels, where make had one to ask.
#pragma once

#include <optional>
#include <string>

namespace attempt {

// Registers a thread of `kernel` (compared without spaces) on a GPU of that compute capability, or
// on the nearest one before it that was compiled for. From the file that make leaves beside the
// program, "<program>.registers", as src/model/ptxas_registers.awk writes it; none where there is
// no such file, or not that kernel in it.
std::optional<int> compiled_registers(const std::string& kernel, int compute_capability);

}  // namespace attempt
