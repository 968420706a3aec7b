// Exercise 1: index and guard. exercises/01-index-and-guard/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

// C = A * B^T: A is M x K, B is N x K, C is M x N, all row by row.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  // ---- your code ----
  // ---- end of your code ----
}

// Blocks of 32 x 8 threads, as many as it takes to cover C: x runs along its columns, y along rows.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 block(32, 8);
  const dim3 grid((shape.N + 31) / 32, (shape.M + 7) / 8);
  launch(multiply, grid, block, 0, shape.M, shape.N, shape.K, A, B, C);
}
