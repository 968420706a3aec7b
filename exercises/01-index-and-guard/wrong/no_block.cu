// expect: several blocks compute the same elements
  // ---- your code ----
  const int row = threadIdx.y;
  const int col = threadIdx.x;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[row * K + k] * B[col * K + k];
  }
  C[row * N + col] = sum;
  // ---- end of your code ----
