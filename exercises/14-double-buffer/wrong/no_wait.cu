// expect: was never waited for
  // ---- your code ----
  __shared__ __align__(16) float As[2][BK][BM];
  __shared__ __align__(16) float Bs[2][BK][BN];

  const auto start_copy = [&](int tile) {
    const int s = tile % 2, k0 = tile * BK;
    for (int i = 4 * thread; i < BK * BM; i += 4 * 128) {
      __pipeline_memcpy_async(&As[s][i / BM][i % BM], &A[(k0 + i / BM) * M + block_row + i % BM],
                              16);
    }
    for (int i = 4 * thread; i < BK * BN; i += 4 * 128) {
      __pipeline_memcpy_async(&Bs[s][i / BN][i % BN], &B[(k0 + i / BN) * N + block_col + i % BN],
                              16);
    }
    __pipeline_commit();
  };

  start_copy(0);
  for (int tile = 0; tile < K / BK; ++tile) {
    __syncthreads();
    if (tile + 1 < K / BK) start_copy(tile + 1);

    const int s = tile % 2;
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      as_float4(a[0]) = as_float4(As[s][k][row]);
      as_float4(b[0]) = as_float4(Bs[s][k][col]);
      for (int j = 0; j < TN; ++j) {
        for (int i = 0; i < TM; ++i) sum[j][i] += a[i] * b[j];
      }
    }
  }
  // ---- end of your code ----
