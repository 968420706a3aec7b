// Shared by the files of small correct and faulty kernels.
#pragma once

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "simulator/cuda/launch.h"
#include "simulator/trace/hazard_kernels.h"

namespace {

namespace cg = cooperative_groups;

// The arguments of a kernel: the caller's `in` and `out`; 1024 floats and 64 flags from cudaMalloc
// that are 0.
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

// Short names for the built-in indices, because every kernel uses them. (clang-format breaks up the
// lambdas in KERNEL<>.)
#define T (threadIdx.x)
#define B (blockIdx.x)
#define KERNEL(blocks, threads)                                         \
  run < blocks, threads,                                                \
      [](const float* in [[maybe_unused]], float* out [[maybe_unused]], \
         float* partial [[maybe_unused]], unsigned* flags [[maybe_unused]])

// Kernels of which several have one line different, with a parameter for each such line.

// Threads store to an array in shared memory and load from it.
#define SHARED(threads, array, stores, between, loads) \
  KERNEL(1, threads) {                                 \
    __shared__ array;                                  \
    stores;                                            \
    between;                                           \
    out[T] = loads;                                    \
  }
#define EXCHANGE(threads, between, loads) \
  SHARED(threads, float s[threads], s[T] = in[T], between, loads)

// cp.async of each thread.
#define COPY_TO(threads, array, copy, between, loads) \
  SHARED(threads, array, __pipeline_memcpy_async copy; __pipeline_commit(), between, loads)
#define COPY(from, between, loads) COPY_TO(64, float s[64], (&s[T], from + T, 4), between, loads)
#define WAIT_FOR_COPY __pipeline_wait_prior(0)
