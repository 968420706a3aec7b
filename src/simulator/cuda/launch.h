// launch(kernel, grid, block, shared_bytes, args...): one function for two machines.
//
// On the GPU it is kernel<<<grid, block, shared_bytes>>>(args...), plus the opt-in that more than
// 48 KB of shared memory requires. On the CPU every thread of the grid runs as a fiber
// (src/simulator/cuda/cpu.h).
//
// launch_aside(...): the same for a kernel that prepares data for one that is studied. On the CPU
// all of its blocks run, and they are neither traced nor counted.
//
// launch_if(condition, ...): the same for a kernel that returns at once unless the condition holds
// (only_if.h). On the CPU it is not launched then.
//
// Both start the kernel early: as soon as all blocks of the one before have ended, or have called
// griddepcontrol_launch_dependents(). Their results need not be visible then, so the kernel waits
// for them itself, with griddepcontrol_wait(). On the CPU nothing is early.
//
// malloc_named(pointer, bytes, name): cudaMalloc. On the CPU the array has that name; cudaMalloc
// alone gives it the pointer's, which says nothing if all allocations are made in one place.
#pragma once

#if !defined(__NVCC__) || defined(SIMT_REWRITTEN)
#include "simulator/cuda/cpu.h"
#include "simulator/cuda/headers/cuda_runtime.h"

template <class T>
cudaError_t malloc_named(T** pointer, std::size_t bytes, const char* name) {
  return (cudaMalloc)(pointer, bytes, name);  // the function, not the macro
}

#elif __cplusplus >= 202002L  // else the file needs no launch(), which is not older

#include <cuda_runtime.h>

#include "model/refusal.h"
#include "simulator/cuda/only_if.h"

template <class... Parameters, class... Arguments>
void launch_at(
    bool early, void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
    Arguments... arguments) {
  // Needed above 48 KB, with the kernel's own __shared__ variables.
  if (shared_bytes > 0) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  }
  cudaLaunchAttribute is_early{};
  is_early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  is_early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &is_early;
  config.numAttrs = early ? 1 : 0;
  if (cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...); error != cudaSuccess) {
    throw model::Refusal(std::string("the GPU refused the launch: ") + cudaGetErrorString(error));
  }
}

template <class... Parameters, class... Arguments>
void launch(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
    Arguments... arguments) {
  launch_at(/*early=*/false, kernel, grid, block, shared_bytes, arguments...);
}

template <class... Parameters, class... Arguments>
void launch_aside(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
    Arguments... arguments) {
  launch_at(/*early=*/true, kernel, grid, block, shared_bytes, arguments...);
}

template <class... Parameters, class... Arguments>
void launch_if(
    const OnlyIf&, void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
    Arguments... arguments) {
  launch_at(/*early=*/true, kernel, grid, block, shared_bytes, arguments...);
}

template <class T>
cudaError_t malloc_named(T** pointer, std::size_t bytes, const char*) {
  return cudaMalloc(pointer, bytes);
}

#endif
