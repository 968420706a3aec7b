// The main program: reads the flags and starts what they request.
#pragma once

#include "model/stage.h"

namespace cli {

// Runs the program with main's arguments. `stages` is the table of main's own copy of
// gemm_steps.cu, whose kernels run on the GPU if nvcc compiled them. Returns the exit code: 0; 1
// for a result that failed its check; 2 for a request that cannot be met, reported in one sentence
// on stderr.
int walk(int argc, char** argv, const model::StageTable& stages);

}  // namespace cli
