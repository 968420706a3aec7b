// Exercise 14: double-buffer. exercises/14-double-buffer/README.md says what to write.
#include <cuda_pipeline.h>

#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 64, BN = 32, BK = 16;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int TM = 4, TN = 4;             // a thread TM x TN of it

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// C = A^T * B: A is K x M and B is K x N, both row by row; C is M x N, column by column.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.x * TM;  // and this thread's results (TM, TN) start there in it
  const int col = threadIdx.y * TN;
  const int thread = threadIdx.y * (BM / TM) + threadIdx.x;  // 0 to 127

  alignas(16) float sum[TN][TM] = {};
  // ---- your code ----
  // ---- end of your code ----
  for (int j = 0; j < TN; ++j) {
    as_float4(C[(block_col + col + j) * M + block_row + row]) = as_float4(sum[j][0]);
  }
}

// A block of 16 x 8 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(BM / TM, BN / TN), 0, shape.M, shape.N, shape.K, A, B, C);
}
