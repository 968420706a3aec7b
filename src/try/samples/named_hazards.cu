// Kernels, chosen by an argument, whose hazards have sentences of their own, and right twins.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cstdlib>

#define T (threadIdx.x)

__device__ void steps(volatile int* s) {
  s[T] += s[T + 16];
  s[T] += s[T + 8];
}
__global__ void volatile_steps(int* d) {
  __shared__ int s[64];
  s[T] = d[T];
  s[T + 32] = 0;
  __syncwarp();
  steps(s);
  d[T] = s[T];
}

__global__ void adds(float* sum, const float* x, bool atomically) {
  if (atomically) {
    atomicAdd(sum, x[T]);
  } else {
    *sum = *sum + x[T];
  }
}

__global__ void changes_source(int* d, bool waits, int other = 0) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[T], &d[T], 4);
  __pipeline_commit();
  if (waits) __pipeline_wait_prior(0);
  __syncthreads();
  d[T ^ other] = 7;
  __pipeline_wait_prior(0);
  d[T + 64] = s[T];
}

__global__ void shuffles(int* d, bool uses_all) {
  int v = T;
  if (T < 20) {
    int w = __shfl_down_sync(0xfffffu, v, 16);
    if (uses_all || T + 16 < 20) v += w;
  }
  d[T] = v;
}

__global__ void loads_matrix(unsigned* d, bool is_pointer) {
  __shared__ __align__(16) half s[64];
  s[2 * T] = s[2 * T + 1] = T;
  __syncwarp();
  half* row = &s[T % 8 * 8];
  unsigned long long a = is_pointer ? (unsigned long long)row : __cvta_generic_to_shared(row);
  unsigned r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(r) : "l"(a));
  d[T] = r;
}

// Objects with virtual functions, which return classes of 12 bytes, as ray tracers have them.
struct Size {
  float x, y, z;
};
struct Solid {
  __device__ virtual Size size(float scale) const = 0;
};
struct Box : Solid {
  __device__ Size size(float scale) const override { return {scale, scale, 2}; }
};
__global__ void measures(Size* sizes, bool into_one) {
  __shared__ Solid* shapes[1];
  if (T == 0) shapes[0] = new Box;
  __syncthreads();
  sizes[into_one ? 0 : T] = shapes[T / 32]->size(T);
  __syncthreads();
  if (T == 0) delete (Box*)shapes[0];
}

int main(int, char** arguments) {
  const int n = atoi(arguments[1]);
  int* d;
  cudaMalloc(&d, 1024);
  cudaMemset(d, 0, 1024);
  if (n == 0) volatile_steps<<<1, 32>>>(d);
  if (n == 1 || n == 2) adds<<<1, 32>>>((float*)d, (float*)d + 32, n == 2);
  if (n == 3 || n == 4) changes_source<<<1, 32>>>(d, n == 4);
  if (n == 5 || n == 6) shuffles<<<1, 32>>>(d, n == 5);
  if (n == 7 || n == 8) loads_matrix<<<1, 32>>>((unsigned*)d, n == 8);
  if (n == 9 || n == 10) changes_source<<<1, 64>>>(d, n == 10, 32);
  if (n == 11 || n == 12) measures<<<1, 32>>>((Size*)d, n == 11);
  cudaDeviceSynchronize();
}
