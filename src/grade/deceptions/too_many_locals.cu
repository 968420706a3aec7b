// expect: would spill
  // ---- your code ----
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float row_of_A[300];
  for (int k = 0; k < K; ++k) row_of_A[k] = A[row * K + k];
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += row_of_A[k] * B[col * K + k];
  C[row * N + col] = sum;
  // ---- end of your code ----
