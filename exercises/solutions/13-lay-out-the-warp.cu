// Exercise 13: lay out the warp. exercises/13-lay-out-the-warp/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 64, BN = 128, BK = 8;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int WM = 32, WN = 64;           // a warp WM x WN of it
constexpr int TM = 4, TN = 16;            // and a thread TM x TN of that: 8 rows of 4 lanes

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// C = A^T * B: A is K x M, B is K x N, C is M x N, all row by row.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ __align__(16) float As[BK][BM];
  __shared__ __align__(16) float Bs[BK][BN];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;                     // 0 to 127
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;

  const int lane = thread % 32;
  int lane_row = 0;  // 0 to 7
  int lane_col = 0;  // 0 to 3
  // ---- your code ----
  lane_row = lane / 2 % 8;
  lane_col = lane / 16 * 2 + lane % 2;
  // ---- end of your code ----

  // The thread's results: 4 rows from `row` on, and 4 columns from each of `col`, `col` + 16, ...
  const int row = warp_row + lane_row * TM;
  const int col = warp_col + lane_col * 4;
  constexpr int kNext = WN / TN * 4;

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 4 * thread; i < BK * BM; i += 4 * 128) {
      as_float4(As[i / BM][i % BM]) = as_float4(A[(k0 + i / BM) * M + block_row + i % BM]);
    }
    for (int i = 4 * thread; i < BK * BN; i += 4 * 128) {
      as_float4(Bs[i / BN][i % BN]) = as_float4(B[(k0 + i / BN) * N + block_col + i % BN]);
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      as_float4(a[0]) = as_float4(As[k][row]);
      for (int j = 0; j < TN; j += 4) as_float4(b[j]) = as_float4(Bs[k][col + j / 4 * kNext]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += 4) {
      const int n = block_col + col + j / 4 * kNext;
      as_float4(C[(block_row + row + i) * N + n]) = as_float4(sum[i][j]);
    }
  }
}

// A block of 128 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(128), 0, shape.M, shape.N, shape.K, A, B, C);
}
