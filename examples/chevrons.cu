// A launch with <<< >>>, in a macro and of a template whose argument is deduced.
#define LAUNCH(kernel, blocks, ...) kernel<<<blocks, dim3(32, 32)>>>(__VA_ARGS__)

template <class T>
__global__ void chevrons(int M, int N, int K, T alpha, const T* A, const T* B, T beta, T* C) {
  __shared__ alignas(16) T sums[32][32];
  const int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  T& sum = sums[threadIdx.y][threadIdx.x];
  sum = 0;
  if (row >= M || col >= N) return;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + col];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  LAUNCH(chevrons, dim3((N + 31) / 32, (M + 31) / 32), M, N, K, alpha, A, B, beta, C);
}
