// Gives the kernel a pointer to memory of the host.
__global__ void host_pointer(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

void sgemm(int M, int N, int K, float, const float*, const float* B, float, float* C) {
  float copy_of_A[64 * 64] = {};
  launch(host_pointer, dim3((N + 63) / 64, M), 64, 0, M, N, K, copy_of_A, B, C);
}
