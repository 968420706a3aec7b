// expect: memory outside of A is read
  // ---- your code ----
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  C[row * N + col] = A[M * K + 1];
  // ---- end of your code ----
