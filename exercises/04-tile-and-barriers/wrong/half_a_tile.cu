// expect: part of a tile is never copied
    // ---- your code ----
    if (thread < BK * BM) {
      As[thread / BM][thread % BM] = A[(k0 + thread / BM) * M + block_row + thread % BM];
    }
    if (thread < BK * BN / 2) {
      Bs[thread / BN][thread % BN] = B[(k0 + thread / BN) * N + block_col + thread % BN];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      sum += As[k][row] * Bs[k][col];
    }
    __syncthreads();
    // ---- end of your code ----
