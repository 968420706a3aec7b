// expect: a tile is multiplied before all of it is there
    // ---- your code ----
    if (thread < BK * BM) {
      As[thread / BM][thread % BM] = A[(k0 + thread / BM) * M + block_row + thread % BM];
    }
    if (thread < BK * BN) {
      Bs[thread / BN][thread % BN] = B[(k0 + thread / BN) * N + block_col + thread % BN];
    }

    for (int k = 0; k < BK; ++k) {
      sum += As[k][row] * Bs[k][col];
    }
    __syncthreads();
    // ---- end of your code ----
