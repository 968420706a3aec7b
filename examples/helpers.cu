// A function loads for the kernel, called from another one.
__device__ float element(const float* matrix, int row, int col, int cols) {
  return matrix[row * cols + col];
}
__device__ float product(const float* A, const float* B, int row, int col, int k, int N, int K) {
  return element(A, row, k, K) * element(B, k, col, N);
}
__global__ void helpers(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += product(A, B, row, col, k, N, K);
  C[row * N + col] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + col];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  launch(helpers, dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8), 0, M, N, K, alpha, A, B, beta, C);
}
