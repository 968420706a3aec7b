// expect: the same XOR of k and m in both
    // ---- your code ----
    const int k = thread % 8 * 4;
    for (int line = thread / 8; line < BM; line += 8) {
      const int place = line ^ k;  // k is a multiple of four: fours of lines stay together
      const float4 a = as_float4(A[(block_row + line) * K + k0 + k]);
      As[k][place] = a.x;
      As[k + 1][place] = a.y;
      As[k + 2][place] = a.z;
      As[k + 3][place] = a.w;
      const float4 b = as_float4(A[(block_col + line) * K + k0 + k]);
      Bs[k][place] = b.x;
      Bs[k + 1][place] = b.y;
      Bs[k + 2][place] = b.z;
      Bs[k + 3][place] = b.w;
    }
    __syncthreads();

    for (int step = 0; step < BK; ++step) {
      const float4 a = as_float4(As[step][row]);
      const float4 b = as_float4(Bs[step][col]);
      const float a_part[TM] = {a.x, a.y, a.z, a.w}, b_part[TN] = {b.x, b.y, b.z, b.w};
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a_part[i] * b_part[j];
        }
      }
    }
    __syncthreads();
    // ---- end of your code ----
