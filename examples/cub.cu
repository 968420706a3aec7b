// CUB's sums and scans of a block and of a warp. make try takes CUB's own headers, which are beside
// nvcc or in a folder of TRY_FLAGS=-I...
//
// A second sum in the same shared memory needs a barrier before it. TRY_ARGS=bad leaves that out: a
// race.
#include <cub/cub.cuh>

#include <cstdio>
#include <vector>

constexpr int kThreads = 128;

struct Larger {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

template <bool kBarrier>
__global__ void sums(const float* in, float* out) {
  using BlockReduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename BlockReduce::TempStorage temporary;
  const float value = in[blockIdx.x * kThreads + threadIdx.x];
  const float sum = BlockReduce(temporary).Sum(value);
  if (kBarrier) __syncthreads();
  const float largest = BlockReduce(temporary).Reduce(value, Larger{});
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = sum;
    out[2 * blockIdx.x + 1] = largest;
  }
}

__global__ void scan(const float* in, float* out) {
  using BlockScan = cub::BlockScan<float, kThreads>;
  using WarpReduce = cub::WarpReduce<float>;
  __shared__ typename BlockScan::TempStorage temporary;
  __shared__ typename WarpReduce::TempStorage of_warp[kThreads / 32];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  float before;
  BlockScan(temporary).ExclusiveSum(in[i], before);
  const float sum = WarpReduce(of_warp[threadIdx.x / 32]).Sum(in[i]);
  out[i] = threadIdx.x % 32 == 0 ? sum : before;
}

int main(int argc, char**) {
  const int blocks = 2, count = blocks * kThreads;
  std::vector<float> host(count), result(count);
  for (int i = 0; i < count; ++i) host[i] = i % 100;
  float *in, *out;
  cudaMalloc(&in, count * sizeof(float));
  cudaMalloc(&out, count * sizeof(float));
  cudaMemcpy(in, host.data(), count * sizeof(float), cudaMemcpyHostToDevice);
  const auto chosen = argc > 1 ? sums<false> : sums<true>;
  chosen<<<blocks, kThreads>>>(in, out);
  cudaMemcpy(result.data(), out, 4 * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("sums %g %g, largest %g %g\n", result[0], result[2], result[1], result[3]);
  scan<<<blocks, kThreads>>>(in, out);
  cudaMemcpy(result.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("before [127] %g, of warp 1 %g\n", result[127], result[32]);
}
