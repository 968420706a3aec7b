// expect: only whole blocks
  // ---- your code ----
  // answer threads: BM/TM*BN
  // answer shared_loads: M*N*K*(1 + 1/TM)
  // answer global_loads: M*N*K*(1/BM + 1/BN)
  // answer least_TM: ceil(BM*BN/1024)
  // answer most_TM: -ceil(-2*BM*BN*SM_BYTES/(4*BK*(BM + BN) + 1024)/SM_THREADS)
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = thread; i < BK * BM; i += kThreads) {
      As[i / BM][i % BM] = A[(k0 + i / BM) * M + block_row + i % BM];
    }
    for (int i = thread; i < BK * BN; i += kThreads) {
      Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + block_col + i % BN];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      const float b = Bs[k][col];
      for (int i = 0; i < TM; ++i) {
        sum[i] += As[k][row + i] * b;
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    C[(block_row + row + i) * N + block_col + col] = sum[i];
  }
  // ---- end of your code ----
