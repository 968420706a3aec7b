// expect: no padding here
    // ---- your code ----
    __shared__ __align__(16) float Ap[BK][BM + 4], Bp[BK][BN + 4];
    const int k = thread % 8 * 4;
    for (int line = thread / 8; line < BM; line += 8) {
      const int place = line;  // k is a multiple of four: fours of lines stay together
      const float4 a = as_float4(A[(block_row + line) * K + k0 + k]);
      Ap[k][place] = a.x;
      Ap[k + 1][place] = a.y;
      Ap[k + 2][place] = a.z;
      Ap[k + 3][place] = a.w;
      const float4 b = as_float4(A[(block_col + line) * K + k0 + k]);
      Bp[k][place] = b.x;
      Bp[k + 1][place] = b.y;
      Bp[k + 2][place] = b.z;
      Bp[k + 3][place] = b.w;
    }
    __syncthreads();

    for (int step = 0; step < BK; ++step) {
      const float4 a = as_float4(Ap[step][row]);
      const float4 b = as_float4(Bp[step][col]);
      const float a_part[TM] = {a.x, a.y, a.z, a.w}, b_part[TN] = {b.x, b.y, b.z, b.w};
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a_part[i] * b_part[j];
        }
      }
    }
    __syncthreads();
    // ---- end of your code ----
