// Shared by the files of idioms.
#pragma once

#include <cuda_runtime.h>

#include "simulator/cuda/launch.h"
#include "simulator/trace/idioms.h"

namespace {

using Body = void (*)(const float* in, float* out);

template <Body body>
__global__ void kernel(const float* in, float* out) {
  body(in, out);
}

template <Body body, int threads = 32>
void run(const float* in, float* out) {
  constexpr int kSharedBytes = 32 * 16;
  launch(kernel<body>, dim3(1), dim3(threads), kSharedBytes, in, out);
}

template <class V>
__device__ const V* as(const float* p) {
  return reinterpret_cast<const V*>(p);
}
template <class V>
__device__ V* as(float* p) {
  return reinterpret_cast<V*>(p);
}

constexpr unsigned kAll = 0xffffffffu;

}  // namespace

// A short name for the built-in index, because every idiom uses it. (clang-format breaks up the
// lambdas in BODY<>.)
#define T (threadIdx.x)
#define BODY run < [](const float* in [[maybe_unused]], float* out [[maybe_unused]])
