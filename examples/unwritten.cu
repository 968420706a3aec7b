// Memory from cudaMalloc that is read before anybody has written it, and reads that are right.
#include <cuda_runtime.h>

#include <cstdio>

struct Padded {
  double value;
  int count;
};

__global__ void add_all(const float* in, float* sum) {
  atomicAdd(sum, in[threadIdx.x]);
}

__global__ void last_is_missing(const float* in, float* out) {
  if (threadIdx.x == 0) out[0] = in[40];
}

__global__ void fill(float* out, Padded* padded) {
  out[threadIdx.x] = 1;
  padded[threadIdx.x].value = 2;
  padded[threadIdx.x].count = 3;
}

// The last word of `from` is unwritten, and only one of the two uses it.
__global__ void add_three(const float4* from, float4* to, float* sum) {
  float4 v = from[threadIdx.x], all = v;
  to[threadIdx.x] = all;
  sum[threadIdx.x] = v.x + v.y + v.z;
}
__global__ void add_four(const float4* from, float* sum) {
  float4 v = from[threadIdx.x];
  __syncthreads();
  sum[threadIdx.x] = v.x + v.y + v.z + v.w;
}

// The same of constants.
__global__ void use_three(const float4* from, float* sum) {
  const float4 v = from[threadIdx.x];
  sum[threadIdx.x] = v.x + v.y + v.z;
}
__global__ void use_four(const float4* from, float* sum) {
  const float4 v = from[threadIdx.x];
  __syncthreads();
  sum[threadIdx.x] = v.x + v.w;
}

__global__ void copy(const float* in, Padded* from, Padded* to, float* out, int* flags) {
  to[threadIdx.x] = from[threadIdx.x];
  out[threadIdx.x] = in[threadIdx.x];
  atomicExch(&flags[threadIdx.x], 1);
}

int main(int argc, char**) {
  const bool good = argc > 1;
  float *in, *sum, *out;
  int* flags;
  Padded *from, *to;
  cudaMalloc(&in, 64 * sizeof *in);
  cudaMalloc(&out, 64 * sizeof *out);
  cudaMalloc(&sum, sizeof *sum);
  cudaMalloc(&flags, 32 * sizeof *flags);
  cudaMalloc(&from, 32 * sizeof *from);
  cudaMalloc(&to, 32 * sizeof *to);
  fill<<<1, 32>>>(in, from);
  if (good) cudaMemset(sum, 0, sizeof *sum);
  add_all<<<1, 32>>>(in, sum);
  if (good) cudaMemset(in + 32, 0xff, 32 * sizeof *in);
  last_is_missing<<<1, 32>>>(in, out);
  copy<<<1, 32>>>(in, from, to, out, flags);
  float4 *vectors, *copies;
  cudaMalloc(&vectors, 64 * sizeof *vectors);
  cudaMalloc(&copies, 64 * sizeof *copies);
  cudaMemset(vectors, 0, 64 * sizeof *vectors - sizeof(float));
  add_three<<<1, 64>>>(vectors, copies, out);
  use_three<<<1, 64>>>(vectors, out);
  if (good) cudaMemset(vectors, 0, 64 * sizeof *vectors);
  add_four<<<1, 64>>>(vectors, out);
  use_four<<<1, 64>>>(vectors, out);
  float result;
  cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
  std::printf("%g\n", result);
}
