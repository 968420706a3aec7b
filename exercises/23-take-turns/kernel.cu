// Exercise 23: take turns. exercises/23-take-turns/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 32, BN = 32, BK = 16;  // a group computes BM x BN of C, BK steps of K at a time
constexpr int TM = 4, TN = 4;             // a thread TM x TN of it
constexpr int GROUP = BM / TM * (BN / TN);  // threads of a group: two warps
constexpr int BOTH = 2 * GROUP;             // threads of the block

// One tile of A and one of B.
struct Tile {
  float A[BK][BM], B[BK][BN];
};

// Adds the products of the tile to a thread's results (TM, TN), which start at row and col.
__device__ void add_products(float (&sum)[TM][TN], const Tile& tile, int row, int col) {
  for (int k = 0; k < BK; ++k) {
    float a[TM], b[TN];
    for (int i = 0; i < TM; ++i) a[i] = tile.A[k][row + i];
    for (int j = 0; j < TN; ++j) b[j] = tile.B[k][col + j];
    for (int i = 0; i < TM; ++i) {
      for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
    }
  }
}

// C = A^T * B: A is K x M, B is K x N, C is M x N, all row by row. The groups compute two tiles of
// C, one below the other.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ __align__(16) Tile tile;  // for both groups

  const int group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
  const int block_row = (2 * blockIdx.y + group) * BM;  // this group's tile of C starts here
  const int block_col = blockIdx.x * BN;
  const int row = thread / 8 * TM;  // and this thread's results (TM, TN) start there in it
  const int col = thread % 8 * TN;

  float sum[TM][TN] = {};
  // ---- your code ----
  // ---- end of your code ----
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      C[(block_row + row + i) * N + block_col + col + j] = sum[i][j];
    }
  }
}

// A block of two groups for every two tiles of C. M, N and K are multiples of 64, 32 and 16.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / (2 * BM));
  launch(multiply, grid, dim3(BOTH), 0, shape.M, shape.N, shape.K, A, B, C);
}
