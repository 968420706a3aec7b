// Exercise 10: transpose and float4. exercises/10-transpose-and-float4/README.md says what to
// write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 64, BN = 64, BK = 8;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int TM = 8, TN = 4;            // a thread TM x TN of it

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// C = A * B^T: A is M x K, B is N x K, C is M x N, all row by row.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ __align__(16) float As[BK][BM];
  __shared__ __align__(16) float Bs[BK][BN];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y * TM;  // and this thread's results (TM, TN) start there in it
  const int col = threadIdx.x * TN;
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;  // 0 to 127

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    // ---- your code ----
    // ---- end of your code ----
  }
  for (int i = 0; i < TM; ++i) {
    // ---- your code ----
    // ---- end of your code ----
  }
}

// A block of 16 x 8 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(BN / TN, BM / TM), 0, shape.M, shape.N, shape.K, A, B, C);
}
