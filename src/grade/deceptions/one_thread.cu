// expect: a thread stores more than once
  // ---- your code ----
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row != 0 || col != 0) return;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0.0f;
      for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[j * K + k];
      C[i * N + j] = sum;
    }
  }
  // ---- end of your code ----
