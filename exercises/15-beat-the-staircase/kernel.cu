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
