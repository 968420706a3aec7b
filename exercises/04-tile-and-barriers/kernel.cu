// Exercise 4: tile and barriers. exercises/04-tile-and-barriers/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 16, BN = 32, BK = 8;  // a block computes BM x BN of C, BK steps of K at a time

// C = A^T * B: A is K x M, B is K x N, C is M x N, all row by row.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BK][BM];
  __shared__ float Bs[BK][BN];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y;  // and this thread's result lies there in it
  const int col = threadIdx.x;
  const int thread = row * BN + col;  // 0 to 511

  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    // ---- your code ----
    // ---- end of your code ----
  }
  C[(block_row + row) * N + block_col + col] = sum;
}

// A block of 32 x 16 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(BN, BM), 0, shape.M, shape.N, shape.K, A, B, C);
}
