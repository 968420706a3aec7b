// Half of the threads wait at one barrier, half at another.
__global__ void divergent(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float row_of_A[32];
  const int row = blockIdx.x, col = threadIdx.x;
  for (int col0 = 0; col0 < N; col0 += 32) {
    float sum = 0;
    for (int k = 0; k < K; ++k) {
      if (col < 16) {
        __syncthreads();
      } else {
        if (col == 16) row_of_A[0] = A[row * K + k];
        __syncthreads();
      }
      if (col0 + col < N) sum += row_of_A[0] * B[k * N + col0 + col];
    }
    if (col0 + col < N) C[row * N + col0 + col] = alpha * sum;
  }
}
void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  launch(divergent, M, 32, 0, M, N, K, alpha, A, B, beta, C);
}
