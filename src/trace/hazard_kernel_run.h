// What the files of small faulty and correct kernels have in common.
#pragma once

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "cuda/launch.h"
#include "trace/hazard_kernels.h"

namespace {

namespace cg = cooperative_groups;

// What a kernel gets: `in` and `out` of the caller; 1024 floats and 64 flags that are 0, both of
// cudaMalloc.
using Body = void (*)(const float* in, float* out, float* partial, unsigned* flags);

template <Body body>
__global__ void kernel(const float* in, float* out, float* partial, unsigned* flags) {
  body(in, out, partial, flags);
}

template <int kBlocks, int kThreads, Body body>
void run(const float* in, float* out) {
  float* partial;
  unsigned* flags;
  cudaMalloc(&partial, 1024 * sizeof(float));
  cudaMalloc(&flags, 64 * sizeof(unsigned));
  cudaMemset(partial, 0, 1024 * sizeof(float));
  cudaMemset(flags, 0, 64 * sizeof(unsigned));
  launch(kernel<body>, dim3(kBlocks), dim3(kThreads), 64 * sizeof(float), in, out, partial, flags);
  cudaFree(partial);
  cudaFree(flags);
}

constexpr unsigned kAll = 0xffffffffu;

__device__ inline float sum_of_warp(float value) {
  for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(kAll, value, d);
  return value;
}

}  // namespace

// The built-in indices, short, because every kernel uses them. (clang-format takes the lambdas in
// KERNEL<> apart.)
#define T (threadIdx.x)
#define B (blockIdx.x)
#define KERNEL(blocks, threads)                                         \
  run < blocks, threads,                                                \
      [](const float* in [[maybe_unused]], float* out [[maybe_unused]], \
         float* partial [[maybe_unused]], unsigned* flags [[maybe_unused]])
