// expect: struct: use plain variables
  // ---- your code ----
  struct Row { float of[4]; };
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[row * K + k] * B[col * K + k];
  }
  C[row * N + col] = sum;
  // ---- end of your code ----
