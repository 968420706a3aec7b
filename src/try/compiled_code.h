// What nvcc made of a user's file, if make has an nvcc (compiled.sh).
#pragma once

#include <string>

#include "lab/measurement.h"
#include "model/gpus.h"

namespace attempt {

// The architecture that nvcc is to compile for, so that the code is that of this GPU: "86", "90a".
std::string architecture_of(const model::Gpu& gpu);

// Why nvcc did not compile the file, as a sentence; empty if it did, or if there is no nvcc.
std::string why_not_compiled();

// Finds the kernel (compared without spaces) in the disassembly that make leaves beside the
// program, "PROGRAM.sm_86.sass". Requires the lines of `measurement`.
lab::SharedLoads shared_loads_of(
    const lab::Measurement& measurement, const std::string& kernel, const model::Gpu& gpu);

}  // namespace attempt
