// nvcc's register counts for a user's kernels, if make has an nvcc.
#pragma once

#include <optional>
#include <string>

namespace attempt {

// The registers per thread of `kernel` (compared without spaces) on a GPU of that compute
// capability, or for the nearest older architecture that was compiled. They are read from the file
// that make leaves beside the program, "<program>.registers", in the format of
// src/model/ptxas_registers.awk. Nothing if there is no such file, or it does not contain the
// kernel.
std::optional<int> compiled_registers(const std::string& kernel, int compute_capability);

}  // namespace attempt
