// expect: who is still multiplying
  // ---- your code ----
  // answer line_1: a
  // answer thread_1: 16
  // answer line_2: d
  // answer thread_2: 0
  // answer smallest_M: 8
  // answer smallest_N: 32
  // answer smallest_K: 8
  __shared__ float As[BK][BM];
  __shared__ float Bs[2][BK][BN];
  const int thread = row * BN + col;               // 0 to 255
  const int a_k = thread / BM, a_m = thread % BM;  // what it copies, where its tile has so much
  const int b_k = thread % BK, b_n = thread / BK;

  for (int k0 = 0; k0 < K; k0 += BK) {
    const int now = k0 / BK % 2;
    if (thread < BK * BM) {
      As[a_k][a_m] = A[(k0 + a_k) * M + block_row + a_m];  // line a
    }
    Bs[now][b_k][b_n] = B[(block_col + b_n) * K + k0 + b_k];  // line b
    __syncthreads();                                          // line c

    for (int k = 0; k < BK; ++k) {
      sum += As[k][row] * Bs[now][k][col];  // line d
    }
  }
  // ---- end of your code ----
