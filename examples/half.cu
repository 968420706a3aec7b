// Matrices of half. Sums are in half, too, or with -DSUM=float in fp32. There is neither alpha nor
// beta, and M, N and K come last: make try knows them by their names.
#include <cuda_fp16.h>

#ifndef SUM
#define SUM half
#endif

__global__ void product(const half* A, const half* B, half* C, int M, int N, int K) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  SUM sum = 0;
  for (int k = 0; k < K; ++k) sum += SUM(A[row * K + k]) * SUM(B[k * N + column]);
  C[row * N + column] = sum;
}

extern "C" void sgemm(const half* A, const half* B, half* C, int M, int N, int K) {
  product<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>(A, B, C, M, N, K);
}
