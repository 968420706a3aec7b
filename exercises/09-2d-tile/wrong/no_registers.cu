// expect: fetch TM elements of As and TN of Bs
  // ---- your code ----
  if (block_col > block_row) return;

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BM * BK; i += kThreads) {
      As[i % BK][i / BK] = A[(block_row + i / BK) * K + k0 + i % BK];
      Bs[i % BK][i / BK] = A[(block_col + i / BK) * K + k0 + i % BK];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += As[k][row + i] * Bs[k][col + j];
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      if (block_col + col + j <= block_row + row + i) {
        C[(block_row + row + i) * M + block_col + col + j] = sum[i][j];
      }
    }
  }
  // ---- end of your code ----
