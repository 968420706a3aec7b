// Exercise 3: coalesce. exercises/03-coalesce/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

// C = A * B: A is M x K, B is K x N, C is M x N, all column by column.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  // ---- your code ----
  const int row = blockIdx.y * 32 + threadIdx.y;
  const int col = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[k * M + row] * B[col * K + k];
  }
  C[col * M + row] = sum;
  // ---- end of your code ----
}

// A block for every 32 x 32 elements of C: blockIdx.y counts down the rows, blockIdx.x along the
// columns.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid((shape.N + 31) / 32, (shape.M + 31) / 32);
  launch(multiply, grid, dim3(32, 32), 0, shape.M, shape.N, shape.K, A, B, C);
}
