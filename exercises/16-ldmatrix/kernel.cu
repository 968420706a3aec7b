// Exercise 16: ldmatrix and swizzle. exercises/16-ldmatrix/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/instructions.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 32, BN = 32, BK = 32;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int WM = 16, WN = 16;           // and each of its four warps WM x WN of it

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// The nearest tf32 number, of a float as ldmatrix loads it.
__device__ unsigned rounded(unsigned word) {
  return cvt_rna_tf32(__uint_as_float(word));
}

// C = A * B^T: A is M x K, B is N x K, C is M x N, all row by row.
__global__ void multiply(int N, int K, const float* A, const float* B, float* C) {
  __shared__ __align__(16) float As[BM][BK];  // a row is 8 chunks of 16 bytes, in all 32 banks
  __shared__ __align__(16) float Bs[BN][BK];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;  // 0 to 127
  const int warp = thread / 32, lane = thread % 32;
  const int warp_row = warp / 2 * WM;  // and this warp's tile (WM, WN) starts there in it
  const int warp_col = warp % 2 * WN;

  float sum[2][4] = {};  // the lane's part of columns 0 to 7 of the warp's tile, and of 8 to 15
  for (int k0 = 0; k0 < K; k0 += BK) {
    // ---- your code ----
    // ---- end of your code ----
    __syncthreads();
    for (int k = 0; k < BK; k += 8) {
      unsigned a[4], b[4];
      // ---- your code ----
      // ---- end of your code ----
      for (int i = 0; i < 4; ++i) a[i] = rounded(a[i]), b[i] = rounded(b[i]);
      for (int j = 0; j < 2; ++j) mma_m16n8k8_tf32(sum[j], a, {b[2 * j], b[2 * j + 1]});
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j) {
    const int m = block_row + warp_row + lane / 4, n = block_col + warp_col + 8 * j + lane % 4 * 2;
    for (int i = 0; i < 4; ++i) C[(m + i / 2 * 8) * N + n + i % 2] = sum[j][i];
  }
}

// A block of four warps for every tile of C. M, N and K are multiples of 32.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(128), 0, shape.N, shape.K, A, B, C);
}
