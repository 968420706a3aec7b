// Kernels in which something is missing between two accesses, and one in which nothing is.
#include <cuda_runtime.h>

#include <cstdio>

__device__ unsigned count;
__device__ float table[64];

// The last block adds up what all have stored.
template <bool with_barrier, bool of_the_gpu>
__global__ void add_up(const float* in, float* parts, float* out) {
  __shared__ bool is_last;
  parts[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
  if (with_barrier) __syncthreads();
  if (threadIdx.x == 0) {
    if (of_the_gpu) __threadfence();
    if (!of_the_gpu) __threadfence_block();
    is_last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last) {
    float sum = 0;
    for (int k = 0; k < gridDim.x; ++k) sum += parts[k * blockDim.x + threadIdx.x];
    out[threadIdx.x] = sum;
  }
}

__global__ void neighbours(float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}

__global__ void through_cache(float* managed, float* out) {
  table[threadIdx.x] = managed[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = __ldg(&table[63 - threadIdx.x]) + __ldg(&managed[63 - threadIdx.x]);
}

__global__ void two_barriers(float* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

__global__ void locked(unsigned* lock, float* sum) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0u, 1u) != 0) {
  }
  *sum += 1;
  __threadfence();
  *lock = 0;
}

__global__ void copy(const float* freed, float* out) {
  out[threadIdx.x] = freed[threadIdx.x];
}

int main() {
  float *in, *parts, *out, *managed, *freed;
  unsigned* lock;
  cudaMalloc(&in, 256);
  cudaMalloc(&parts, 1024);
  cudaMalloc(&out, 1024);
  cudaMalloc(&lock, 4);
  cudaMalloc(&freed, 256);
  cudaMallocManaged(&managed, 256);
  cudaMemset(in, 0, 256);
  cudaMemset(parts, 0, 1024);
  cudaMemset(lock, 0, 4);
  add_up<true, true><<<4, 64>>>(in, parts, out);
  add_up<false, true><<<4, 64>>>(in, parts, out);
  add_up<true, false><<<4, 64>>>(in, parts, out);
  neighbours<<<1, 64>>>(out);
  through_cache<<<1, 64>>>(managed, out);
  two_barriers<<<1, 64>>>(out);
  locked<<<4, 32>>>(lock, parts);
  cudaFree(freed);
  copy<<<1, 64>>>(freed + 32, out);
  std::printf("the freed array was not there: %d\n", cudaDeviceSynchronize());
}
