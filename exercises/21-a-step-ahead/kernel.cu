// Exercise 21: a step ahead. exercises/21-a-step-ahead/README.md says what to write.
#include <cuda_pipeline.h>

#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 64, BN = 32, BK = 8;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int TM = 4, TN = 4;            // a thread TM x TN of it
constexpr int THREADS = BM / TM * (BN / TN);  // of a block: 128

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// One tile of A and one of B.
struct Tile {
  float A[BK][BM], B[BK][BN];
};

// A thread's registers: two sets of fragments and its results. A GPU starts a load and goes on with
// the next instruction. Only an instruction that uses what is loaded waits for it. On a CPU nothing
// waits, so this counts how often a GPU would: whenever a set is multiplied, and nothing was
// multiplied since it was loaded.
class Registers {
 public:
  // Loads the fragments for step k of a tile: TM elements of A from `row` on, and TN of B.
  __device__ void load(int set, const Tile& tile, int k, int row, int col) {
    as_float4(a_[set][0]) = as_float4(tile.A[k][row]);
    as_float4(b_[set][0]) = as_float4(tile.B[k][col]);
    loaded_after_[set] = steps_;
  }
  // Adds the products of a set to the results.
  __device__ void multiply(int set) {
    if (loaded_after_[set] == steps_) ++waits_;
    ++steps_;
    for (int j = 0; j < TN; ++j) {
      for (int i = 0; i < TM; ++i) sum_[j][i] += a_[set][i] * b_[set][j];
    }
  }
  __device__ int steps() const { return steps_; }  // that were multiplied
  __device__ int waits() const { return waits_; }
  // The results of a column, which lie side by side in C.
  __device__ void store(int j, float& to) const { as_float4(to) = as_float4(sum_[j][0]); }

 private:
  alignas(16) float a_[2][TM], b_[2][TN], sum_[TN][TM] = {};
  int loaded_after_[2] = {}, steps_ = 0, waits_ = 0;
};

// C = A^T * B: A is K x M and B is K x N, both row by row; C is M x N, column by column.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ __align__(16) Tile ring[2];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.x * TM;  // and this thread's results (TM, TN) start there in it
  const int col = threadIdx.y * TN;
  const int thread = threadIdx.y * (BM / TM) + threadIdx.x;  // 0 to 127

  Registers own;
  // ---- your code ----
  // ---- end of your code ----
  __shared__ int waits[THREADS];  // the grader counts the stores to it
  for (int i = 0; i < own.waits(); ++i) waits[thread] = i;
  if (own.steps() != K) return;
  for (int j = 0; j < TN; ++j) {
    own.store(j, C[(block_col + col + j) * M + block_row + row]);
  }
}

// A block of 16 x 8 threads for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(BM / TM, BN / TN), 0, shape.M, shape.N, shape.K, A, B, C);
}
