// expect: grew by more than four floats
  // ---- your code ----
  __shared__ __align__(16) float As[BM][BK];
  __shared__ __align__(16) float Bs[BN][BK + 12];
  for (int k0 = 0; k0 < K; k0 += BK) {
    const int line = thread / 8, part = thread % 8 * 4;
    as_float4(As[line][part]) = as_float4(A[(block_row + line) * K + k0 + part]);
    as_float4(Bs[line][part]) = as_float4(B[(block_col + line) * K + k0 + part]);
    __syncthreads();

    for (int k = 0; k < BK; k += 4) {
      const float4 b = as_float4(Bs[col][k]);
      for (int i = 0; i < TM; ++i) {
        const float4 a = as_float4(As[row + i][k]);
        sum[i] += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
      }
    }
    __syncthreads();
  }
  // ---- end of your code ----
