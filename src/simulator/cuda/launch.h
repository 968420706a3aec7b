// launch(kernel, grid, block, shared_bytes, args...): one function for two machines.
//
// On the GPU it is kernel<<<grid, block, shared_bytes>>>(args...), plus the opt-in that more than
// 48 KB of shared memory requires. On the CPU every thread of the grid runs as a fiber
// (src/simulator/cuda/cpu.h).
#pragma once

#ifndef __NVCC__
#include "simulator/cuda/cpu.h"
#else

#include <cuda_runtime.h>

#include "model/refusal.h"

template <class... Parameters, class... Arguments>
void launch(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
    Arguments... arguments) {
  constexpr int kSharedWithoutOptIn = 48 * 1024;
  if (shared_bytes > kSharedWithoutOptIn) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  }
  kernel<<<grid, block, shared_bytes>>>(arguments...);
  if (cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    throw model::Refusal(std::string("the GPU refused the launch: ") + cudaGetErrorString(error));
  }
}

#endif
