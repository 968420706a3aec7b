// The program: what the flags ask for, from the matrices to the exit code.
#pragma once

#include "model/stage.h"

// The copies of gemm_steps.cu for the CPU: one with the tracer's hooks, one without (Makefile).
extern const StageTable stage_table_traced;
extern const StageTable stage_table_plain;

// Runs the program with main's arguments. `stages` is the table of main's own copy of
// gemm_steps.cu, whose kernels run on the GPU if nvcc compiled them. Returns the exit code: 0, 1
// for a result that failed its check, 2 for a request that cannot be met (said in one sentence on
// stderr).
int walk(int argc, char** argv, const StageTable& stages);
