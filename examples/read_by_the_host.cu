// Reads memory of the GPU on the host.
__global__ void sum(int K, const float* A, float* total) {
  for (int k = 0; k < K; ++k) total[0] += A[k];
}

void sgemm(int, int, int K, float, const float* A, const float*, float, float* C) {
  float* total;
  cudaMalloc(&total, sizeof(float));
  cudaMemset(total, 0, sizeof(float));
  launch(sum, 1, 1, 0, K, A, total);
  C[0] = *total;
}
