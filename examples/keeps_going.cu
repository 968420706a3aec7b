// The second kernel has a fatal hazard, and so has the third; the last one has none.
//   make try KERNEL=examples/keeps_going.cu TRY_FLAGS=--keep-going
#include <cstdio>
#include <cstdlib>

__global__ void filled(int* values) {
  values[threadIdx.x] = threadIdx.x;
}
__global__ void past_the_end(int* values) {
  values[threadIdx.x + 1] = 0;
}
__global__ void calls_the_host(int* values) {
  values[threadIdx.x] = rand();
}
__global__ void doubled(int* values) {
  values[threadIdx.x] *= 2;
}

int main() {
  int *values, host[32];
  cudaMalloc(&values, sizeof host);
  filled<<<1, 32>>>(values);
  for (int i = 0; i < 2; ++i) past_the_end<<<1, 32>>>(values);
  calls_the_host<<<1, 32>>>(values);
  filled<<<1, 32>>>(values);
  doubled<<<1, 32>>>(values);
  cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("the last value is %d\n", host[31]);
}
