// expect: C is to lie column by column
  // ---- your code ----
  const int row = blockIdx.y * 32 + threadIdx.x;
  const int col = blockIdx.x * 32 + threadIdx.y;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[k * M + row] * B[col * K + k];
  }
  C[row * N + col] = sum;
  // ---- end of your code ----
