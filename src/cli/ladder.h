// The rows of the table, in order: the stages, the CPU's reference, and cuBLAS.
#pragma once

#include <vector>

#include "flags/flags.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/stage.h"

namespace cli {

// The copies of gemm_steps.cu: main's own, whose kernels run on the GPU if nvcc compiled them, and
// those for the CPU.
struct StageTables {
  const model::StageTable &own, &traced, &plain;
};

// Measures `stages`, which belong to the program's own table, on that problem and appends a row for
// each to `run`. If all stages are measured, it adds a row for the OpenMP reference, and with a GPU
// rows for cuBLAS. `result` receives the result of the last stage.
void climb(
    const flags::Flags& flags, const StageTables& tables,
    const std::vector<const model::Stage*>& stages, const lab::Problem& problem, lab::Run& run,
    lab::Floats& result);

}  // namespace cli
