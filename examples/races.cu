// Races in functions and in an included file. Each sentence names the remedy that follows from who
// races, and the corrected twin has none.
#include <cuda_runtime.h>

#include "races.cuh"

__device__ void add(float* s, unsigned t, unsigned d) {
  s[t] += s[t + d];
}

// Lanes of one warp, in a branch that the other warps do not take.
template <bool good>
__global__ void last_steps(float* out) {
  __shared__ float s[128];
  const unsigned t = threadIdx.x;
  s[t] = 1;
  __syncthreads();
  for (unsigned d = 32; t < 32 && d > 0; d /= 2) {
    if (!good || t < d) add(s, t, d);
    if (good) __syncwarp();
  }
  if (t == 0) out[0] = s[0];
}

// Warps, at a place that all threads pass.
template <bool good>
__global__ void reversed(float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  if (good) __syncthreads();
  out[threadIdx.x] = opposite(s);
}

// Warps, in a branch.
template <bool good>
__global__ void tree(float* out) {
  __shared__ float s[256];
  const unsigned t = threadIdx.x;
  s[t] = 1;
  __syncthreads();
  for (unsigned d = 128; d > 0; d /= 2) {
    if (t < d) add(s, t, d);
    if (good) __syncthreads();
  }
  if (t == 0) out[0] = s[0];
}

// A flag, plain or atomic.
template <bool good>
__global__ void flag(int* out) {
  __shared__ int set;
  if (threadIdx.x == 0) set = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    good ? atomicExch(&set, 7) : set = 7;
  } else if (threadIdx.x == 32) {
    out[0] = good ? atomicAdd(&set, 0) : set;
  }
}

// Plain beside atomic.
template <bool good>
__global__ void counted(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&count, 1);
  if (threadIdx.x == 32) out[0] = good ? atomicAdd(&count, 0) : count;
}

// Blocks.
template <bool good>
__global__ void neighbours(float* out) {
  out[blockIdx.x * 32 + threadIdx.x] = 1;
  if (!good) out[threadIdx.x + 64] = out[(blockIdx.x + 1) % gridDim.x * 32];
}

// All threads store to one element.
template <bool good>
__global__ void one_element(float* out) {
  __shared__ float s;
  if (!good || threadIdx.x == 0) s = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s;
}

template <bool good>
void run(float* out) {
  last_steps<good><<<1, 64>>>(out);
  reversed<good><<<1, 64>>>(out);
  tree<good><<<1, 256>>>(out);
  flag<good><<<1, 64>>>(reinterpret_cast<int*>(out));
  counted<good><<<1, 64>>>(reinterpret_cast<int*>(out));
  neighbours<good><<<2, 32>>>(out);
  one_element<good><<<1, 64>>>(out);
}

int main(int argc, char**) {
  float* out;
  cudaMalloc(&out, 1024);
  cudaMemset(out, 0, 1024);
  if (argc > 1) {
    run<true>(out);
  } else {
    of_header<<<1, 64>>>(out);
    run<false>(out);
  }
  cudaFree(out);
}
