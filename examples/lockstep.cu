// Code from before Volta, whose warps ran in step, and its twin for all GPUs.
#include <cuda_runtime.h>

#include <cstdio>

// The last six steps of Mark Harris's reduction.
__device__ void last_steps(volatile float* s, unsigned t) {
  s[t] += s[t + 32];
  s[t] += s[t + 16];
  s[t] += s[t + 8];
  s[t] += s[t + 4];
  s[t] += s[t + 2];
  s[t] += s[t + 1];
}
__device__ void last_steps_since_volta(float* s, unsigned t) {
  float sum = s[t] + s[t + 32];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (t == 0) s[0] = sum;
}
template <bool good>
__global__ void reduce(float* out) {
  __shared__ float s[256];
  const unsigned t = threadIdx.x;
  s[t] = 1;
  __syncthreads();
  for (unsigned d = 128; d > 32; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t < 32) good ? last_steps_since_volta(s, t) : last_steps(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void says_twice() {
  for (int i = 0; i < 2; ++i) printf("%d%c ", i, 'a' + threadIdx.x);
}

// Two buffers, of which one bit of the address says which.
__global__ void two_buffers(float* out) {
  __shared__ float before[300];
  __shared__ __align__(16384) float s[2][2048];
  before[threadIdx.x] = 0;
  unsigned long long at = reinterpret_cast<unsigned long long>(&s[0][threadIdx.x]);
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float*>(at) = i;
    at ^= 0x2000;
  }
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&s[0][threadIdx.x]));
  address ^= 0x2000;
  out[threadIdx.x] = s[0][threadIdx.x] + s[1][threadIdx.x] +
                     100 * (address - __cvta_generic_to_shared(&s[1][threadIdx.x]));
}

__global__ void dynamic_buffers(float* out) {
  extern __shared__ __align__(32768) float d[];
  d[threadIdx.x] = 0;
  unsigned long long at = reinterpret_cast<unsigned long long>(&d[threadIdx.x]) ^ 0x4000;
  *reinterpret_cast<float*>(at) = 7;
  out[threadIdx.x] = d[threadIdx.x] + d[4096 + threadIdx.x];
}

int main(int argc, char**) {
  float *out, host[64];
  cudaMalloc(&out, sizeof host);
  const bool good = argc > 1;
  good ? reduce<true><<<64, 256>>>(out) : reduce<false><<<64, 256>>>(out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  float most = 0, least = 1e9;
  for (float value : host) {
    most = value > most ? value : most;
    least = value < least ? value : least;
  }
  std::printf("%g to %g\n", least, most);
  says_twice<<<1, 3>>>();
  cudaDeviceSynchronize();
  two_buffers<<<1, 32>>>(out);
  cudaMemcpy(host, out, 128, cudaMemcpyDeviceToHost);
  std::printf("\n%g\n", host[31]);
  dynamic_buffers<<<1, 32, 32768>>>(out);
  cudaMemcpy(host, out, 128, cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[31]);
}
