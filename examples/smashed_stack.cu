// The loop of a helper goes beyond the kernel's last local array, into what lies between that and
// the caller's part of the stack.
__device__ void fill(float* values, int count, float value) {
  for (int i = 0; i < count; ++i) values[i] = value;
}

__global__ void smashed_stack(float* C) {
  float values[8];
  fill(values, 12, 1);
  C[threadIdx.x] = values[7];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  launch(smashed_stack, 1, 32, 0, C);
}
