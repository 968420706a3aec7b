// expect: some rows still begin in the same bank
  // ---- your code ----
  __shared__ __align__(16) float As[BM][BK];
  __shared__ __align__(16) float Bs[BN][BK + 2];
  for (int k0 = 0; k0 < K; k0 += BK) {
    const int line = thread / 8, part = thread % 8 * 4;
    as_float4(As[line][part]) = as_float4(A[(block_row + line) * K + k0 + part]);
    const float4 b = as_float4(B[(block_col + line) * K + k0 + part]);
    Bs[line][part] = b.x;
    Bs[line][part + 1] = b.y;
    Bs[line][part + 2] = b.z;
    Bs[line][part + 3] = b.w;
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      const float b_k = Bs[col][k];
      for (int i = 0; i < TM; ++i) {
        sum[i] += As[row + i][k] * b_k;
      }
    }
    __syncthreads();
  }
  // ---- end of your code ----
