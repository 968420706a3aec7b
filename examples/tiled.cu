// Tiles in shared memory as in textbooks, with the width as a template parameter.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

template <const uint WIDTH>
__global__ void __launch_bounds__(WIDTH* WIDTH, 1) tiled(
    int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
    float beta, float* C) {
  __shared__ float As[WIDTH][WIDTH];
  extern __shared__ float Bs[];
  const uint tx = threadIdx.x % WIDTH, ty = threadIdx.x / WIDTH;
  const uint row = blockIdx.y * WIDTH + ty, col = blockIdx.x * WIDTH + tx;
  assert(blockDim.x == WIDTH * WIDTH);
  if (row == 0 && col == 0) printf("tiles of %u x %u\n", WIDTH, WIDTH);
  float sum = 0;
  for (uint tile = 0; tile < K; tile += WIDTH) {
    As[ty][tx] = row < M && tile + tx < K ? __ldg(&A[row * K + tile + tx]) : 0;
    Bs[ty * WIDTH + tx] = tile + ty < K && col < N ? __ldg(&B[(tile + ty) * N + col]) : 0;
    __syncthreads();
#pragma unroll
    for (uint k = 0; k < WIDTH; ++k) sum = fmaf(As[ty][k], Bs[k * WIDTH + tx], sum);
    __syncthreads();
  }
  if (row < M && col < N) {
    C[row * N + col] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + col];
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kWidth = 16;
  launch(
      tiled<kWidth>, dim3(CEIL_DIV(N, kWidth), CEIL_DIV(M, kWidth)), kWidth * kWidth,
      kWidth * kWidth * sizeof(float), M, N, K, alpha, A, B, beta, C);
}
