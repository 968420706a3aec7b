// Exercise 9: the 2D tile. exercises/09-2d-tile/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 64, BN = 64, BK = 8;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int TM = 4, TN = 16;           // a thread computes TM x TN of them
constexpr int kThreads = BM / TM * (BN / TN);

// The lower triangle of C = A * A^T, with the diagonal: A is M x K, C is M x M, both row by row.
__global__ void multiply(int M, int K, const float* A, float* C) {
  __shared__ float As[BK][BM];  // the rows of A that C's rows need
  __shared__ float Bs[BK][BN];  // and those that C's columns need

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y * TM;  // and this thread's results (TM, TN) start there in it
  const int col = threadIdx.x * TN;
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;  // 0 to 63

  // ---- your code ----
  if (block_col > block_row) return;

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BM * BK; i += kThreads) {
      As[i % BK][i / BK] = A[(block_row + i / BK) * K + k0 + i % BK];
      Bs[i % BK][i / BK] = A[(block_col + i / BK) * K + k0 + i % BK];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      for (int i = 0; i < TM; ++i) a[i] = As[k][row + i];
      for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      if (block_col + col + j <= block_row + row + i) {
        C[(block_row + row + i) * M + block_col + col + j] = sum[i][j];
      }
    }
  }
  // ---- end of your code ----
}

// A block of 4 x 16 threads for every tile of C, also above the diagonal. M is a multiple of 64 and
// K of 8.
void run(Shape shape, const float* A, const float*, float* C) {
  const dim3 grid(shape.M / BN, shape.M / BM);
  launch(multiply, grid, dim3(BN / TN, BM / TM), 0, shape.M, shape.K, A, C);
}
