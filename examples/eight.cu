// The worked examples of walkthrough.md on 8 x 8 matrices, small enough for pencil and paper, and
// the GPU made of paper that counts them: 4 lanes per warp, 4 floats per sector, 8 banks.
//
//   make build/try/eight && build/try/eight --size 8 --gpu paper
//
// Kernels 1 to 9 are those of stages 1 to 9; the others are used for comparisons in the chapters.
// Each computes C again and is counted separately.
#define KERNELS_ALONE
#include "gemm_steps.cu"

// Stage 7 on paper. A's tile is transposed, and two neighbouring lanes store to rows that are
// four apart. Four rows of 8 words end at the bank where they began. Rows of 9 would end at
// another, but a float4 begins at a multiple of 4 words. So one float4 of padding follows every
// four rows: they take 36 words, and the next four begin at bank 4.
__global__ void padded_by_four_rows(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int BM = 8, BN = 8, BK = 8, TM = 4, TN = 4, kThreads = 4;
  __shared__ __align__(16) float As[BK / 4][4 * BM + 4];  // row k is As[k / 4][k % 4 * BM ...]
  __shared__ __align__(16) float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int row = threadIdx.y * TM, col = threadIdx.x * TN;  // in it, this thread's first result
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += 4 * kThreads / BK) {
      const int m = i + 4 * thread / BK, k = 4 * thread % BK;
      const float4 a = load4_or_zero<4>(A, M, K, block_row + m, k0 + k);
      As[k / 4][m] = a.x;
      As[k / 4][BM + m] = a.y;
      As[k / 4][2 * BM + m] = a.z;
      As[k / 4][3 * BM + m] = a.w;
    }
    for (int i = 0; i < BK; i += 4 * kThreads / BN) {
      const int k = i + 4 * thread / BN, n = 4 * thread % BN;
      as_float4(Bs[k][n]) = load4_or_zero<4>(B, K, N, k0 + k, block_col + n);
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      as_float4(a[0]) = as_float4(As[k / 4][k % 4 * BM + row]);
      as_float4(b[0]) = as_float4(Bs[k][col]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    update4_if_inside<4>(
        C, M, N, block_row + row + i, block_col + col, alpha, as_float4(sum[i][0]), beta);
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const dim3 grid(ceil_div(N, 4), ceil_div(M, 4));
  launch(naive<4, 4>, grid, dim3(4, 4), 0, M, N, K, alpha, A, B, beta, C);
  launch(coalesced<4, 4>, grid, dim3(4, 4), 0, M, N, K, alpha, A, B, beta, C);
  launch(shared_memory_tiling<4, 4, 4>, grid, dim3(4, 4), 0, M, N, K, alpha, A, B, beta, C);
  launch(thread_coarsening_1d<4, 4, 4, 2>, grid, dim3(4, 2), 0, M, N, K, alpha, A, B, beta, C);
  launch(thread_tiling_2d<4, 4, 4, 2, 2>, grid, dim3(2, 2), 0, M, N, K, alpha, A, B, beta, C);

  // A float4 is four results wide, so a thread computes 4 x 4, and a block of four threads 8 x 8.
  const dim3 wide(ceil_div(N, 8), ceil_div(M, 8));
  launch(vectorized<8, 8, 4, 4, 4, 4>, wide, dim3(2, 2), 0, M, N, K, alpha, A, B, beta, C);
  launch(padded_by_four_rows, wide, dim3(2, 2), 0, M, N, K, alpha, A, B, beta, C);
  launch(warp_tiling<8, 8, 4, 8, 8, 4, 4, 4>, wide, 4, 0, M, N, K, alpha, A, B, beta, C);
  constexpr int kTiles = 3, kTileBytes = 4 * (8 + 4 + 8) * sizeof(float);
  launch(
      async_pipeline<8, 8, 4, 8, 8, 4, 4, kTiles, 4>, wide, 4, kTiles * kTileBytes, M, N, K, alpha,
      A, B, beta, C);

  // Chapter 7: all of A as one tile on its side, with rows of 8 words, and with rows of 12.
  launch(vectorized<8, 8, 8, 4, 4, 4>, wide, dim3(2, 2), 0, M, N, K, alpha, A, B, beta, C);
  launch(conflict_free<8, 8, 8, 4, 4, 4>, wide, dim3(2, 2), 0, M, N, K, alpha, A, B, beta, C);
  // Chapter 8: stage 5's four lanes in a column instead of a square.
  launch(
      thread_tiling_2d<8, 2, 4, 2, 2>, dim3(ceil_div(N, 2), ceil_div(M, 8)), dim3(1, 4), 0, M, N, K,
      alpha, A, B, beta, C);
}
