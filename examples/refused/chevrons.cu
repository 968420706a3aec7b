// <<< >>> is not C++.
__global__ void chevrons(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  chevrons<<<1, 32>>>(M, N, K, alpha, A, B, beta, C);
}
