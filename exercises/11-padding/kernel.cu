// Exercise 11: padding. exercises/11-padding/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 32, BN = 32, BK = 32;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int TM = 4;                     // a thread TM x 1 of it

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// C = A * B^T: A is M x K, B is N x K, C is M x N, all row by row.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y * TM;  // and this thread's results (TM) start there in it
  const int col = threadIdx.x;
  const int thread = threadIdx.y * BN + threadIdx.x;  // 0 to 255

  float sum[TM] = {};
  // ---- your code ----
  // ---- end of your code ----
  for (int i = 0; i < TM; ++i) {
    C[(block_row + row + i) * N + block_col + col] = sum[i];
  }
}

// A block of 32 x 8 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(BN, BM / TM), 0, shape.M, shape.N, shape.K, A, B, C);
}
