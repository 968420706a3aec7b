// Two tiles in turn: while the threads add one up, the next one is copied into the other, and each
// tile has a barrier that also waits for its copies.
#include <cuda/barrier>

#include <cstdio>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 128, kTile = 4 * kThreads, kTiles = 8;

__device__ void copy_tile(float* tile, const float* from, Barrier& barrier) {
  for (int i = threadIdx.x; i < kTile; i += kThreads) {
    cuda::memcpy_async(&tile[i], &from[i], cuda::aligned_size_t<4>(4), barrier);
  }
}

__global__ void add_up(const float* in, float* sums) {
  __shared__ Barrier barriers[2];
  __shared__ float tiles[2][kTile];
  if (threadIdx.x < 2) init(&barriers[threadIdx.x], kThreads);
  __syncthreads();
  copy_tile(tiles[0], in, barriers[0]);
  float sum = 0;
  for (int t = 0; t < kTiles; ++t) {
    if (t + 1 < kTiles) {
      copy_tile(tiles[(t + 1) % 2], in + (t + 1) * kTile, barriers[(t + 1) % 2]);
    }
    barriers[t % 2].arrive_and_wait();
    for (int i = 0; i < kTile; ++i) sum += tiles[t % 2][i];
    __syncthreads();
  }
  sums[threadIdx.x] = sum;
}

int main() {
  float *in, *sums;
  cudaMallocManaged(&in, kTiles * kTile * sizeof(float));
  cudaMallocManaged(&sums, kThreads * sizeof(float));
  for (int i = 0; i < kTiles * kTile; ++i) in[i] = 1;
  add_up<<<1, kThreads>>>(in, sums);
  cudaDeviceSynchronize();
  printf("the first thread counts %g, the last one %g\n", sums[0], sums[kThreads - 1]);
}
