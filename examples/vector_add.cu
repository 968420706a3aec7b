// The preface's program: z = x + y, element by element, with everything that a CUDA program has.
//
//   nvcc -std=c++20 -O3 examples/vector_add.cu -o vector_add && ./vector_add     with a GPU
//   make build/examples/vector_add && build/examples/vector_add               without one

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Every call of the CUDA library can fail, and its return value says so.
void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

__global__ void add(int n, const float* x, const float* y, float* z) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}

int main() {
  const int n = 1000;
  const std::size_t bytes = n * sizeof(float);
  std::vector<float> x(n), y(n), z(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 2.0f * static_cast<float>(i);
  }

  float *device_x, *device_y, *device_z;
  check(cudaMalloc(&device_x, bytes), "memory for x");
  check(cudaMalloc(&device_y, bytes), "memory for y");
  check(cudaMalloc(&device_z, bytes), "memory for z");
  check(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice), "x to the GPU");
  check(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice), "y to the GPU");

  const int threads = 256;
  const int blocks = (n + threads - 1) / threads;
  add<<<blocks, threads>>>(n, device_x, device_y, device_z);
  check(cudaGetLastError(), "the launch of add");
  check(cudaDeviceSynchronize(), "add");

  check(cudaMemcpy(z.data(), device_z, bytes, cudaMemcpyDeviceToHost), "z to the host");
  std::printf(
      "%d blocks of %d threads: %d threads for %d elements\n", blocks, threads, blocks * threads,
      n);
  std::printf("z[0] = %g, z[1] = %g, z[999] = %g\n", z[0], z[1], z[999]);

  for (float* memory : {device_x, device_y, device_z}) check(cudaFree(memory), "cudaFree");
  return 0;
}
