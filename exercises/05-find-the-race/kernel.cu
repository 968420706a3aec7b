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
  // ---- end of your code ----
  C[(block_row + row) * N + block_col + col] = sum;  // line e
}

// A block of 32 x 8 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(BN, BM), 0, shape.M, shape.N, shape.K, A, B, C);
}
