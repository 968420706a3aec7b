// Comes before a user's file when it is preprocessed. The words of CUDA that a rewriter translates
// (rewrite/) are not macros in the user's file.
#pragma once

#define SIMT_REWRITTEN
#include "cuda/cpu.h"
#include "cuda/headers/cuda_runtime.h"
#include "cuda/launched.h"

#undef __global__
#undef __device__
#undef __constant__
#undef __shared__

// As nvcc defines them, for an architecture of its middle years.
#define __CUDACC__ 1
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 860
#endif
