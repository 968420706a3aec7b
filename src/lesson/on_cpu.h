// A whole CUDA program on the CPU, like vector_add.cu and standalone.cu. The Makefile writes
// launch(kernel, grid, block, 0, arguments) for their <<< >>>.
#pragma once

#include "cuda/headers/cuda_runtime.h"

// The program's main, which on_cpu.cpp calls.
#define main cuda_main
int cuda_main();
