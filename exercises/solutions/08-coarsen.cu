// Exercise 8: coarsen and choose TM. exercises/08-coarsen/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/launch.h"

// C = A^T * B: A is K x M, B is K x N, C is M x N, all row by row. A block computes BM x BN of C,
// BK steps of K at a time; a thread computes TM of it, one below the other.
template <int BM, int BN, int BK, int TM>
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  constexpr int kThreads = BM / TM * BN;
  __shared__ float As[BK][BM];
  __shared__ float Bs[BK][BN];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y * TM;  // and this thread's results (TM) start there in it
  const int col = threadIdx.x;
  const int thread = threadIdx.y * BN + threadIdx.x;  // 0 to kThreads - 1

  // ---- your code ----
  // answer threads: BM/TM*BN
  // answer shared_loads: M*N*K*(1 + 1/TM)
  // answer global_loads: M*N*K*(1/BM + 1/BN)
  // answer least_TM: ceil(BM*BN/1024)
  // answer most_TM: -ceil(-2*BM*BN*-ceil(-SM_BYTES/(4*BK*(BM + BN) + 1024))/SM_THREADS)
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BK * BM; i += kThreads) {
      As[i / BM][i % BM] = A[(k0 + i / BM) * M + block_row + i % BM];
    }
    for (int i = thread; i < BK * BN; i += kThreads) {
      Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + block_col + i % BN];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      const float b = Bs[k][col];
      for (int i = 0; i < TM; ++i) {
        sum[i] += As[k][row + i] * b;
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    C[(block_row + row + i) * N + block_col + col] = sum[i];
  }
  // ---- end of your code ----
}

// A block of BN x BM/TM threads for every tile of C. M, N and K are multiples of BM, BN and BK.
template <int BM, int BN, int BK, int TM>
void run_tiled(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply<BM, BN, BK, TM>, grid, dim3(BN, BM / TM), 0, shape.M, shape.N, shape.K, A, B, C);
}

void run(Shape shape, const float* A, const float* B, float* C) {
  if (shape.variant == 0) run_tiled<64, 64, 32, 8>(shape, A, B, C);
  if (shape.variant == 1) run_tiled<48, 32, 64, 4>(shape, A, B, C);
  if (shape.variant == 2) run_tiled<128, 32, 64, 16>(shape, A, B, C);
}
