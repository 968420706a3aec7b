// expect: A is read as if it were M x K
    // ---- your code ----
    if (thread < BK * BM) {
      As[thread / BM][thread % BM] = A[(block_row + thread % BM) * K + k0 + thread / BM];
    }
    if (thread < BK * BN) {
      Bs[thread / BN][thread % BN] = B[(k0 + thread / BN) * N + block_col + thread % BN];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      sum += As[k][row] * Bs[k][col];
    }
    __syncthreads();
    // ---- end of your code ----
