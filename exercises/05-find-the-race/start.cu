// Exercise 5: find the race. exercises/05-find-the-race/README.md says what to answer and repair.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 8, BN = 32, BK = 8;  // a block computes BM x BN of C, BK steps of K at a time

// C = A^T * B^T: A is K x M, B is N x K, C is M x N, all row by row.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y;  // and this thread's result lies there in it
  const int col = threadIdx.x;
  float sum = 0.0f;

  // ---- your code ----
  // answer line_1:
  // answer thread_1:
  // answer line_2:
  // answer thread_2:
  // answer smallest_M:
  // answer smallest_N:
  // answer smallest_K:
  __shared__ float As[BK][BM];
  __shared__ float Bs[2][BK][BN];
  const int thread = row * BN + col;               // 0 to 255
  const int a_k = thread / BM, a_m = thread % BM;  // its element, if the tile has that many
  const int b_k = thread % BK, b_n = thread / BK;

  for (int k0 = 0; k0 < K; k0 += BK) {
    const int now = k0 / BK % 2;
    if (thread < BK * BM) {
      As[a_k][a_m] = A[(k0 + a_k) * M + block_row + a_m];  // line a
    }
    Bs[now][b_k][b_n] = B[(block_col + b_n) * K + k0 + b_k];  // line b
    __syncthreads();                                          // line c

    for (int k = 0; k < BK; ++k) {
      sum += As[k][row] * Bs[now][k][col];  // line d
    }
  }
  // ---- end of your code ----
  C[(block_row + row) * N + block_col + col] = sum;  // line e
}

// A block of 32 x 8 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(BN, BM), 0, shape.M, shape.N, shape.K, A, B, C);
}
