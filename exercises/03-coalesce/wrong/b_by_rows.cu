// expect: B is read as if it lay row by row
  // ---- your code ----
  const int row = blockIdx.y * 32 + threadIdx.x;
  const int col = blockIdx.x * 32 + threadIdx.y;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[k * M + row] * B[k * N + col];
  }
  C[col * M + row] = sum;
  // ---- end of your code ----
