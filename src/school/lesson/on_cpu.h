// A whole CUDA program on the CPU, such as vector_add.cu and standalone.cu. The Makefile replaces
// their <<< >>> by launch(kernel, grid, block, 0, arguments).
#pragma once

#include "simulator/cuda/launch.h"

// The program's main, which on_cpu.cpp calls.
#define main cuda_main
int cuda_main();
