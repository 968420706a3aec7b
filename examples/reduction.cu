// A whole program: the sum of many numbers in one launch. Every block adds up its part; the block
// that is done last adds up the parts. Its arguments are the number of elements and of launches.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

constexpr int kThreads = 256;
constexpr int kMostBlocks = 64;

__device__ unsigned int blocks_done = 0;
__device__ int parts[kMostBlocks];
__constant__ int factor;

// Leaves the sum of all threads' values in thread 0.
__device__ int sum_of_block(int value) {
  __shared__ int sums[kThreads];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

__global__ void sum(const int* values, int count, int* result) {
  int mine = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    mine += factor * values[i];
  }
  const int of_block = sum_of_block(mine);
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = of_block;
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  const int all = sum_of_block(threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0);
  if (threadIdx.x == 0) *result = all;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100000;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 3;
  std::vector<int> values(count);
  for (int i = 0; i < count; ++i) values[i] = i % 10 - 4;

  int *device_values, *device_result, result = 0;
  const int three = 3;
  cudaMalloc(&device_values, count * sizeof(int));
  cudaMalloc(&device_result, sizeof(int));
  cudaMemcpy(device_values, values.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(factor, &three, sizeof three);
  for (int i = 0; i < launches; ++i) {
    sum<<<kMostBlocks, kThreads>>>(device_values, count, device_result);
  }
  cudaMemcpy(&result, device_result, sizeof result, cudaMemcpyDeviceToHost);
  const int expected = 3 * std::accumulate(values.begin(), values.end(), 0);
  std::printf("the sum is %d; expected: %d\n", result, expected);
  cudaFree(device_values);
  cudaFree(device_result);
  return result == expected ? 0 : 1;
}
