// Calls host functions from a kernel, a different one for each M.
__global__ void calls_the_host(int what, float* C) {
  float* memory = nullptr;
  if (what == 1) C[0] = rand();
  if (what == 2) memory = static_cast<float*>(calloc(4, 4));
  if (what == 3) memory = static_cast<float*>(realloc(C, 16));
  if (what == 4) cudaMalloc(&memory, 16);
  if (memory != nullptr) C[0] = memory[0];
}

void sgemm(int M, int, int, float, const float*, const float*, float, float* C) {
  launch(calls_the_host, 1, 1, 0, M, C);
}
