// Kernels that take objects by reference and by value. The object is in memory that host and GPU
// share, so a reference to it is valid on both.
#include <cooperative_groups.h>

#include <cstdio>
#include <new>

struct Counter {
  int count;
  int steps[7];
};

__global__ void count_up(Counter& counter) {
  atomicAdd(&counter.count, 1);
}

__global__ void read(const Counter& counter, int* out) {
  *out = counter.count;
}

__global__ void change_copy(Counter counter) {
  counter.count = -1;
}

// Each block adds its number after all of the blocks before have come to the barrier.
__global__ void meet(Counter& counter, int* total) {
  if (threadIdx.x == 0) atomicAdd(&counter.count, 1);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0 && counter.count == gridDim.x) atomicAdd(total, 1);
}

int main() {
  Counter* counter;
  int* out;
  cudaMallocManaged(&counter, sizeof(Counter));
  cudaMallocManaged(&out, sizeof(int));
  Counter& named = *new (counter) Counter{};
  count_up<<<2, 32>>>(named);
  cudaDeviceSynchronize();
  change_copy<<<1, 1>>>(named);
  read<<<1, 1>>>(named, out);
  cudaDeviceSynchronize();
  printf("counted %d, read %d\n", named.count, *out);

  named.count = *out = 0;
  const int blocks = 200;
  void* arguments[] = {&counter, &out};
  const cudaError_t error =
      cudaLaunchCooperativeKernel((void*)meet, dim3(blocks), dim3(64), arguments, 0, 0);
  cudaDeviceSynchronize();
  printf("%s: %d of %d blocks have seen all\n", cudaGetErrorName(error), *out, blocks);
}
