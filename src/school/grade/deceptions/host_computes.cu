// expect: the result is wrong
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
  // ---- your code ----
  return;
  // ---- end of your code ----
}

void run(Shape shape, const float* A, const float* B, float* C) {
  for (int i = 0; i < shape.M * shape.N; ++i) C[i] = A[0] * B[0];
}
