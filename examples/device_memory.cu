// A product in memory of its own, with the host calls that textbooks show.
#define CHECK(call)                                                                \
  if (cudaError_t error = call; error != cudaSuccess) {                            \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
    exit(1);                                                                       \
  }

__global__ void product(int M, int N, int K, const float* A, const float* B, float* AB) {
  const int row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  AB[row * N + col] = sum;
}

__global__ void combine(int elements, float alpha, const float* AB, float beta, float* C) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) C[i] = beta == 0 ? alpha * AB[i] : alpha * AB[i] + beta * C[i];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  float *d_A, *workspace;
  CHECK(cudaMalloc((void**)&d_A, sizeof(float) * M * K));
  CHECK(cudaMalloc(&workspace, sizeof(float) * M * N));
  CHECK(cudaMemcpy(d_A, A, sizeof(float) * M * K, cudaMemcpyDefault));
  launch(product, dim3((N + 63) / 64, M), 64, 0, M, N, K, d_A, B, workspace);
  CHECK(cudaGetLastError());
  launch(combine, (M * N + 63) / 64, 64, 0, M * N, alpha, workspace, beta, C);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(d_A));
  CHECK(cudaFree(workspace));
  // A second time. The error stays until it is asked for.
  if (cudaFree(workspace) == cudaSuccess || cudaGetLastError() == cudaSuccess) abort();
}
