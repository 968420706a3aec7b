// Exercise 6: tile edges. exercises/06-tile-edges/README.md says what to repair.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 8, BN = 32, BK = 16;  // a block computes BM x BN of C, BK steps of K at a time

// C = A * B^T for any shape: A is M x K, B is N x K, C is M x N; A and B lie row by row, C column
// by column.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BN][BK];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;  // 0 to 255
  const int row = thread % BM;     // and this thread's result lies there in it
  const int col = thread / BM;

  // ---- your code ----
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BM * BK; i += BM * BN) {
      const int m = block_row + i / BK, k = k0 + i % BK;
      As[i / BK][i % BK] = m < M && k < K ? A[m * K + k] : 0.0f;
    }
    for (int i = thread; i < BN * BK; i += BM * BN) {
      const int n = block_col + i / BK, k = k0 + i % BK;
      Bs[i / BK][i % BK] = n < N && k < K ? B[n * K + k] : 0.0f;
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      sum += As[row][k] * Bs[col][k];
    }
    __syncthreads();
  }
  if (block_row + row < M && block_col + col < N) {
    C[(block_col + col) * M + block_row + row] = sum;
  }
  // ---- end of your code ----
}

// A block of 256 threads for every tile of C, also for a tile that is not whole.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid((shape.N + BN - 1) / BN, (shape.M + BM - 1) / BM);
  launch(multiply, grid, dim3(BM * BN), 0, shape.M, shape.N, shape.K, A, B, C);
}
