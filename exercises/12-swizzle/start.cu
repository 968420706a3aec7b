// Exercise 12: swizzle. exercises/12-swizzle/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 32, BN = 32, BK = 32;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int TM = 4, TN = 4;             // a thread TM x TN of it

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// C = A * A^T on and below the diagonal: A is M x K, C is M x M, both row by row.
__global__ void multiply(int M, int K, const float* A, float* C) {
  __shared__ __align__(16) float As[BK][BM];  // k first: the rows of C ...
  __shared__ __align__(16) float Bs[BK][BN];  // ... and its columns, both rows of A
  if (blockIdx.x > blockIdx.y) return;        // all of its tile lies above the diagonal

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y * TM;  // and this thread's results (TM, TN) start there in it
  const int col = threadIdx.x * TN;
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;  // 0 to 63

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    // ---- your code ----
    const int k = thread % 8 * 4;
    for (int line = thread / 8; line < BM; line += 8) {
      const float4 a = as_float4(A[(block_row + line) * K + k0 + k]);
      As[k][line] = a.x;
      As[k + 1][line] = a.y;
      As[k + 2][line] = a.z;
      As[k + 3][line] = a.w;
      const float4 b = as_float4(A[(block_col + line) * K + k0 + k]);
      Bs[k][line] = b.x;
      Bs[k + 1][line] = b.y;
      Bs[k + 2][line] = b.z;
      Bs[k + 3][line] = b.w;
    }
    __syncthreads();

    for (int step = 0; step < BK; ++step) {
      const float4 a = as_float4(As[step][row]);
      const float4 b = as_float4(Bs[step][col]);
      const float a_part[TM] = {a.x, a.y, a.z, a.w}, b_part[TN] = {b.x, b.y, b.z, b.w};
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a_part[i] * b_part[j];
        }
      }
    }
    __syncthreads();
    // ---- end of your code ----
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      const int m = block_row + row + i, n = block_col + col + j;
      if (n <= m) C[m * M + n] = sum[i][j];
    }
  }
}

// A block of 8 x 8 threads for every tile of C. M and K are multiples of 32; B is A, and N is M.
void run(Shape shape, const float* A, const float*, float* C) {
  const dim3 grid(shape.M / BN, shape.M / BM);
  launch(multiply, grid, dim3(BN / TN, BM / TM), 0, shape.M, shape.K, A, C);
}
