// Has a kernel, but not the function that launches it.
__global__ void lonely(float* C) {
  C[threadIdx.x] = 0;
}

void gemm(float* C) {
  launch(lonely, 1, 32, 0, C);
}
