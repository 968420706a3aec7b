// expect: more often than once a tile
    // ---- your code ----
    if (thread < BK * BM) {
      As[thread / BM][thread % BM] = A[(k0 + thread / BM) * M + block_row + thread % BM];
    }
    if (thread < BK * BN) {
      Bs[thread / BN][thread % BN] = B[(k0 + thread / BN) * N + block_col + thread % BN];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      sum += A[(k0 + k) * M + block_row + row] * B[(k0 + k) * N + block_col + col];
    }
    __syncthreads();
    // ---- end of your code ----
