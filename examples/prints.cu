// Two kernels that print; the second is launched twice. Each line must appear once.
#include <cstdio>

__global__ void clear(int elements, float* C) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) C[i] = 0;
  if (i == 0) printf("cleared\n");
}

__global__ void half(
    int M, int N, int first, int last, int K, float alpha, const float* A, const float* B,
    float* C) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (col >= N) return;
  if (col == 0) printf("row %d from %d begins at %g\n", row, first, C[row * N]);
  for (int k = first; k < last; ++k) C[row * N + col] += alpha * A[row * K + k] * B[k * N + col];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  printf("on the host\n");
  launch(clear, (M * N + 63) / 64, 64, 0, M * N, C);
  for (int part = 0; part < 2; ++part) {
    launch(
        half, dim3((N + 63) / 64, M), 64, 0, M, N, part * K / 2, (part + 1) * K / 2, K, alpha, A, B,
        C);
  }
}
