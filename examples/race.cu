// A tile that is overwritten while others still read it: the second __syncthreads() is missing.
__global__ void racy(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float As[16][16], Bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
    As[threadIdx.y][threadIdx.x] =
        row < M && k0 + threadIdx.x < K ? A[row * K + k0 + threadIdx.x] : 0;
    Bs[threadIdx.y][threadIdx.x] =
        col < N && k0 + threadIdx.y < K ? B[(k0 + threadIdx.y) * N + col] : 0;
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
  }
  if (row < M && col < N)
    C[row * N + col] = alpha * sum + (beta == 0 ? 0 : beta * C[row * N + col]);
}
void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  launch(racy, dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, M, N, K, alpha, A, B, beta, C);
}
