// Exercise 24: units. exercises/24-units/README.md says what to write.
#include <cuda_fp16.h>

#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 16, BN = 16;   // a block computes BM x BN of C
constexpr int PIECE = 64;         // steps of K at a time
constexpr int TM = 4, TN = 2;     // a thread computes TM x TN of C
constexpr int THREADS = BM + BN;  // of a block: each also splits a row of A or of B

// The fp16 number that is nearest to x, and the value of an fp16 number.
__device__ __half fp16(float x) {
  return __float2half_rn(x);
}
__device__ float value(__half x) {
  return __half2float(x);
}

// 64 numbers of one row of A, or of B, in parts.
struct Line {
  __half high[PIECE], low[PIECE];
};

// C = A * B^T: A is M x K, B is N x K, C is M x N, all row by row.
__global__ void multiply(int N, int K, const float* A, const float* B, float* C) {
  __shared__ Line lines[THREADS];   // BM rows of A, then BN rows of B
  __shared__ float units[THREADS];  // the unit of each

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;   // 0 to 31
  const int row = thread / 8 * TM;  // this thread's results (TM, TN) start there in the tile
  const int col = thread % 8 * TN;
  const float* const own_row =
      thread < BM ? A + (block_row + thread) * K : B + (block_col + thread - BM) * K;

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += PIECE) {
    const float* const x = own_row + k0;  // the numbers that this thread splits: PIECE
    Line& line = lines[thread];
    // ---- your code ----
    // ---- end of your code ----
    __syncthreads();

    // What the tensor cores do: three products of fp16 numbers, and sums in fp32.
    float partial[TM][TN] = {};
    for (int k = 0; k < PIECE; ++k) {
      float a[TM], a_low[TM];
      for (int i = 0; i < TM; ++i) {
        a[i] = value(lines[row + i].high[k]);
        a_low[i] = value(lines[row + i].low[k]);
      }
      for (int j = 0; j < TN; ++j) {
        const float b = value(lines[BM + col + j].high[k]);
        const float b_low = value(lines[BM + col + j].low[k]);
        for (int i = 0; i < TM; ++i) partial[i][j] += a_low[i] * b + a[i] * b_low + a[i] * b;
      }
    }
    // ---- your code ----
    // ---- end of your code ----
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      C[(block_row + row + i) * N + block_col + col + j] = sum[i][j];
    }
  }
}

// A block of one warp for every tile of C. M, N and K are multiples of 16, 16 and 64.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(THREADS), 0, shape.N, shape.K, A, B, C);
}
