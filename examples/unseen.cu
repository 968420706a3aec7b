// A kernel that calls a function of the C library, whose loads no compiler announces: its counts
// would be too small, so none are printed.
#include <cstring>

#include "unseen.cuh"

__global__ void bytes_before_zero(int M, int N, const float* A, float* C) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M * N) C[i] = strlen(reinterpret_cast<const char*>(A));
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  static_cast<void>(K), static_cast<void>(alpha), static_cast<void>(B);
  const dim3 blocks((M * N + 31) / 32), threads(32);
  if (beta == 0)
    launch(bytes_before_zero, blocks, threads, 0, M, N, A, C);
  else
    launch(bytes_of_next, blocks, threads, 0, M * N, A, C);
}
