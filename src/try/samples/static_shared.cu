// __shared__ arrays outside of a kernel's own body. A kernel has those of all functions that it can
// call: each kernel from here to `apart` has 44,000 bytes, which leaves 5 blocks of 256 threads on
// an SM of an H200.
//   too_much: a kernel that reaches two of them, 88,000 bytes, is launched instead
#include <cstdio>

__device__ float* of_function() {
  __shared__ float t[11000];
  return t;
}
__device__ float* of_function_level_2() {
  return of_function();
}
__device__ float* of_function_level_3() {
  return of_function_level_2();
}
__device__ float* of_another() {
  __shared__ float t[11000];
  return t;
}
__device__ __forceinline__ float* of_inlined() {
  __shared__ float t[11000];
  return t;
}
template <int N>
struct Tile {
  static __device__ float* of_member() {
    __shared__ float t[N];
    return t;
  }
};
template <class F>
__device__ float* call(F f) {
  return f();
}
__shared__ float of_file[11000];
__device__ float* small() {
  __shared__ float t[256];
  return t;
}
__device__ float* (*const table[])() = {of_function, small};

__device__ void use(float* s, float* d) {
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  d[threadIdx.x] = s[255 - threadIdx.x];
}

#define KERNEL(name, shared)       \
  __global__ void name(float* d) { \
    use(shared, d);                \
  }
KERNEL(function, of_function())
KERNEL(levels, of_function_level_3())
KERNEL(inlined, of_inlined())
KERNEL(member, Tile<11000>::of_member())
KERNEL(passed, call([] { return of_another(); }))
KERNEL(file, of_file)
KERNEL(only_small, small())  // has none of it
__global__ void plain(float* d) {
  __shared__ float t[11000];
  use(t, d);
}
__global__ void lambda(float* d) {
  use(
      [] {
        __shared__ float t[11000];
        return t;
      }(),
      d);
}
__global__ void pointer(float* d) {
  float* (*f)() = of_function;
  use(f(), d);
}
__global__ void by_table(float* d, int i) {
  use(table[i](), d);
}
template <class T>
__global__ void templated(T* d) {
  use(of_function(), d);
}
// Not called in this launch, but the kernel has the memory nevertheless.
__global__ void not_called(float* d, bool calls) {
  use(calls ? of_function() : small(), d);
}
__global__ void apart(float* d) {
  extern __shared__ float dynamic[];
  use(dynamic, d);
  __syncthreads();
  use(of_function(), d);
}
__global__ void nothing(float* d) {
  d[threadIdx.x] = 1;
}

__global__ void twice(float* d) {
  use(of_function(), d);
  use(of_another(), d);
}

int main(int count, char**) {
  float* d;
  cudaMalloc(&d, 1024);
  if (count > 1) {
    twice<<<1, 256>>>(d);
    std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
  }
  plain<<<1, 256>>>(d);
  function<<<1, 256>>>(d);
  levels<<<1, 256>>>(d);
  inlined<<<1, 256>>>(d);
  member<<<1, 256>>>(d);
  lambda<<<1, 256>>>(d);
  passed<<<1, 256>>>(d);
  pointer<<<1, 256>>>(d);
  by_table<<<1, 256>>>(d, 1);
  file<<<1, 256>>>(d);
  templated<<<1, 256>>>(d);
  not_called<<<1, 256>>>(d, false);
  apart<<<1, 256, 1024>>>(d);
  only_small<<<1, 256>>>(d);
  nothing<<<1, 256>>>(d);
  return cudaDeviceSynchronize();
}
