// Loops forever, from barrier to barrier.
__global__ void barriers(float* C) {
  while (true) __syncthreads();
}

void sgemm(int, int, int, float, const float*, const float*, float, float* C) {
  launch(barriers, 1, 64, 0, C);
}
