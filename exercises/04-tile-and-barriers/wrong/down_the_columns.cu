// expect: which index of the tile should change fastest
    // ---- your code ----
    if (thread < BK * BM) {
      As[thread / BM][thread % BM] = A[(k0 + thread / BM) * M + block_row + thread % BM];
    }
    if (thread < BK * BN) {
      Bs[thread % BK][thread / BK] = B[(k0 + thread % BK) * N + block_col + thread / BK];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      sum += As[k][row] * Bs[k][col];
    }
    __syncthreads();
    // ---- end of your code ----
