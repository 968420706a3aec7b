// expect: let those be neighbours in memory
  // ---- your code ----
  const int row = blockIdx.y * 32 + threadIdx.y;
  const int col = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[k * M + row] * B[col * K + k];
  }
  C[col * M + row] = sum;
  // ---- end of your code ----
