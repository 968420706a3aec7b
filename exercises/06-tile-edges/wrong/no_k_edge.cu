// expect: K is no multiple of BK
  // ---- your code ----
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BM * BK; i += BM * BN) {
      const int m = block_row + i / BK, k = k0 + i % BK;
      As[i / BK][i % BK] = m < M ? A[m * K + k] : 0.0f;
    }
    for (int i = thread; i < BN * BK; i += BM * BN) {
      const int n = block_col + i / BK, k = k0 + i % BK;
      Bs[i / BK][i % BK] = n < N ? B[n * K + k] : 0.0f;
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      sum += As[row][k] * Bs[col][k];
    }
    __syncthreads();
  }
  if (block_row + row < M && block_col + col < N) {
    C[(block_col + col) * M + block_row + row] = sum;
  }
  // ---- end of your code ----
