// Exercise 15: beat the staircase. exercises/15-beat-the-staircase/README.md says what to write.
#include <cuda_pipeline.h>

#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

// A block of `threads` threads, numbered along x, computes BM x BN of C.
struct Tiles {
  int BM, BN, threads;
};

__host__ __device__ constexpr Tiles chosen_tiles() {
  Tiles tiles = {16, 16, 256};
  // ---- your code ----
  tiles = {64, 128, 128};
  // ---- end of your code ----
  return tiles;
}

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// C = A^T * B: A is K x M, B is K x N, C is M x N, all row by row.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  constexpr int BM = chosen_tiles().BM, BN = chosen_tiles().BN, kThreads = chosen_tiles().threads;
  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;
  // ---- your code ----
  constexpr int BK = 8, TM = 8, TN = 8;
  __shared__ __align__(16) float As[2][BK][BM];
  __shared__ __align__(16) float Bs[2][BK][BN];
  const int row = thread / 16 * 4;  // and 32 rows below
  const int col = thread % 16 * 4;  // and 64 columns to the right

  const auto start_copy = [&](int tile) {
    const int s = tile % 2, k0 = tile * BK;
    for (int i = 4 * thread; i < BK * BM; i += 4 * kThreads) {
      __pipeline_memcpy_async(
          &As[s][i / BM][i % BM], &A[(k0 + i / BM) * M + block_row + i % BM], 16);
    }
    for (int i = 4 * thread; i < BK * BN; i += 4 * kThreads) {
      __pipeline_memcpy_async(
          &Bs[s][i / BN][i % BN], &B[(k0 + i / BN) * N + block_col + i % BN], 16);
    }
    __pipeline_commit();
  };

  alignas(16) float sum[TM][TN] = {};
  start_copy(0);
  for (int tile = 0; tile < K / BK; ++tile) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (tile + 1 < K / BK) start_copy(tile + 1);

    const int s = tile % 2;
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) as_float4(a[i]) = as_float4(As[s][k][row + i * 8]);
      for (int j = 0; j < TN; j += 4) as_float4(b[j]) = as_float4(Bs[s][k][col + j * 16]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += 4) {
      const int m = block_row + row + i / 4 * 32 + i % 4;
      as_float4(C[m * N + block_col + col + j * 16]) = as_float4(sum[i][j]);
    }
  }
  // ---- end of your code ----
}

// M and N are multiples of 256, K of 32.
void run(Shape shape, const float* A, const float* B, float* C) {
  constexpr Tiles tiles = chosen_tiles();
  static_assert(
      tiles.BM > 0 && tiles.BN > 0 && 256 % tiles.BM == 0 && 256 % tiles.BN == 0,
      "BM and BN must divide 256");
  static_assert(tiles.threads > 0 && tiles.threads <= 1024, "a block has 1 to 1024 threads");
  const dim3 grid(shape.N / tiles.BN, shape.M / tiles.BM);
  launch(multiply, grid, dim3(tiles.threads), 0, shape.M, shape.N, shape.K, A, B, C);
}
