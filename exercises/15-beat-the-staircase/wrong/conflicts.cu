// expect: shared memory is what the rest waits for
// Exercise 15: beat the staircase. exercises/15-beat-the-staircase/README.md says what to write.
#include <cuda_pipeline.h>

#include "grade/shape.h"
#include "cuda/launch.h"

// A block of `threads` threads, numbered along x, computes BM x BN of C.
struct Tiles {
  int BM, BN, threads;
};

__host__ __device__ constexpr Tiles chosen_tiles() {
  Tiles tiles = {16, 16, 256};
  // ---- your code ----
  tiles = {128, 128, 256};
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
  __shared__ __align__(16) float As[BK][BM];
  __shared__ __align__(16) float Bs[BK][BN];
  const int row = thread / (BN / TN) * TM;
  const int col = thread % (BN / TN) * TN;

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 4 * thread; i < BK * BM; i += 4 * kThreads) {
      as_float4(As[i / BM][i % BM]) = as_float4(A[(k0 + i / BM) * M + block_row + i % BM]);
    }
    for (int i = 4 * thread; i < BK * BN; i += 4 * kThreads) {
      as_float4(Bs[i / BN][i % BN]) = as_float4(B[(k0 + i / BN) * N + block_col + i % BN]);
    }
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) as_float4(a[i]) = as_float4(As[k][row + i]);
      for (int j = 0; j < TN; j += 4) as_float4(b[j]) = as_float4(Bs[k][col + j]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += 4) {
      const int m = block_row + row + i;
      as_float4(C[m * N + block_col + col + j]) = as_float4(sum[i][j]);
    }
  }
  // ---- end of your code ----
}

// M and N are multiples of 256, K of 32.
void run(Shape shape, const float* A, const float* B, float* C) {
  constexpr Tiles tiles = chosen_tiles();
  static_assert(tiles.BM > 0 && tiles.BN > 0 && 256 % tiles.BM == 0 && 256 % tiles.BN == 0,
                "BM and BN must divide 256");
  static_assert(tiles.threads > 0 && tiles.threads <= 1024, "a block has 1 to 1024 threads");
  const dim3 grid(shape.N / tiles.BN, shape.M / tiles.BM);
  launch(multiply, grid, dim3(tiles.threads), 0, shape.M, shape.N, shape.K, A, B, C);
}
