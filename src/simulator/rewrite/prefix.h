// Comes before a user's file when it is preprocessed. The words of CUDA that a rewriter translates
// (rewrite/) are not macros in the user's file.
#pragma once

// C++20's lerp is in the way of programs that define their own, as the samples' helper_math.h does:
// for nvcc they are C++17.
#define lerp simt_standard_lerp
#include <math.h>
#undef lerp

// Most users' files include it: it is precompiled with this file.
#include <vector>

#define SIMT_REWRITTEN
#include "simulator/cuda/cpu.h"
#include "simulator/cuda/headers/cuda_runtime.h"
#include "simulator/cuda/launched.h"
#include "simulator/rewrite/adapted.h"

#undef __global__
#undef __device__
#undef __constant__
#undef __managed__
#undef __cluster_dims__
#undef __shared__

// As nvcc defines them, for an architecture of its middle years.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 860
#endif

// Else CUTLASS's headers look for the driver's functions, also if nobody calls them.
#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL 1
// CUB's own functions for these numbers are in CUDA's headers, and not here.
#define CCCL_DISABLE_FP16_SUPPORT 1

// A stop for a debugger; without one, it ends the kernel.
inline void __brkpt() {
  __trap();
}
