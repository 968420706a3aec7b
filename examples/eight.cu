// The worked example of walkthrough.md: the ladder's own kernels on 8 x 8 matrices, with tiles of
// 4 x 4, small enough for pencil and paper. Each computes C anew, and is counted on its own:
//
//   make build/try/eight && build/try/eight --size 8
#include "gemm_steps.cu"

// gemm_steps.cu comes with a main, which nobody calls here.
int cli::walk(int, char**, const model::StageTable&) {
  return 0;
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const dim3 grid(ceil_div(N, 4), ceil_div(M, 4));
  launch(naive<4, 4>, grid, dim3(4, 4), 0, M, N, K, alpha, A, B, beta, C);
  launch(coalesced<4, 4>, grid, dim3(4, 4), 0, M, N, K, alpha, A, B, beta, C);
  launch(shared_memory_tiling<4, 4, 4>, grid, dim3(4, 4), 0, M, N, K, alpha, A, B, beta, C);
  launch(thread_coarsening_1d<4, 4, 4, 2>, grid, dim3(4, 2), 0, M, N, K, alpha, A, B, beta, C);
  launch(thread_tiling_2d<4, 4, 4, 2, 2>, grid, dim3(2, 2), 0, M, N, K, alpha, A, B, beta, C);
  // A float4 is four results wide, so a thread's tile must be, too: two threads a block, tiles 8
  // x 4.
  launch(
      vectorized<8, 8, 4, 4, 4, 4>, dim3(ceil_div(N, 8), ceil_div(M, 8)), dim3(2, 2), 0, M, N, K,
      alpha, A, B, beta, C);
}
