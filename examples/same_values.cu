// Idioms that CUDA defines, or that work on all GPUs, each with a twin that is wrong.
#include <cuda_runtime.h>

// All lanes of a warp store the same value by one instruction.
template <bool good>
__global__ void warp_sums(float* out) {
  __shared__ float s[32];
  float sum = threadIdx.x;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (!good) sum += threadIdx.x % 32;
  s[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < blockDim.x / 32) out[threadIdx.x] = s[threadIdx.x];
}

// The loop of the programming guide around a compare-and-swap.
__device__ float add(float* sum, float value) {
  int* const p = reinterpret_cast<int*>(sum);
  int old = *p, seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, __float_as_int(value + __int_as_float(seen)));
  } while (old != seen);
  return __int_as_float(old);
}
template <bool good>
__global__ void swaps(float* sums) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  add(&s, 1);
  __syncthreads();
  if (good) {
    add(&sums[threadIdx.x % 2], s);
  } else {
    sums[threadIdx.x % 2] = s + add(&sums[threadIdx.x % 2], s);
  }
}
// The load after the loop is checked by nothing.
__global__ void reads_after(float* sum, float* out) {
  add(sum, 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = *sum;
}

// Several threads set a flag, which only the host reads.
template <bool good>
__global__ void limit(const float* in, bool* over) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] > 3) *over = good || i % 2 == 1;
}

// The others read it by an atomic, or as a plain variable.
template <bool good>
__global__ void stop(const float* in, int* over, int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] > 3) *over = 1;
  out[i] = good ? atomicAdd(over, 0) : *over;
}

// One of them says more.
__global__ void in_block(const float* in, int* over) {
  __shared__ bool any;
  if (threadIdx.x == 0) any = false;
  __syncthreads();
  if (in[threadIdx.x] > 3) any = true;
  __syncthreads();
  if (any && threadIdx.x == 0) *over = 1;
}

template <bool good>
void run(const float* in, float* out, int* flags) {
  warp_sums<good><<<1, 128>>>(out);
  cudaMemset(out, 0, 1024);
  swaps<good><<<4, 64>>>(out);
  limit<good><<<2, 64>>>(in, reinterpret_cast<bool*>(flags));
  stop<good><<<2, 64>>>(in, flags, flags + 1);
}

int main(int argc, char**) {
  float *in, *out, host[128];
  int* flags;
  for (int i = 0; i < 128; ++i) host[i] = i % 7;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, 2048);
  cudaMalloc(&flags, 1024);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(flags, 0, 1024);
  cudaMemset(out, 0, 2048);
  if (argc > 1) {
    run<true>(in, out, flags);
    in_block<<<1, 64>>>(in, flags);
  } else {
    run<false>(in, out, flags);
    reads_after<<<2, 32>>>(out, out + 64);
  }
}
