// expect: closes what was not opened
  // ---- your code ----
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[row * K + k] * B[col * K + k];
  }
  C[row * N + col] = sum;
}
void run(Shape shape, const float* A, const float* B, float* C) {
  // ---- end of your code ----
