// Words of CUDA that few programs use: volatile device variables, atomics that wait, clusters.
#include <cooperative_groups.h>

#include <cstdio>
#include <cuda/atomic>

namespace cg = cooperative_groups;

struct Pair {
  volatile int a;
  int b;
};
struct Odd {
  int a;
  int* operator&() { return &a; }
};
__device__ volatile int flag;
volatile __device__ int turn = 2;
__device__ volatile float many_turns[4] = {1, 2, 3, 4};
__device__ const volatile int fixed = 7;
static __device__ volatile unsigned counter, other;
__device__ static volatile int third;
__managed__ volatile int seen;
__device__ __managed__ volatile float many[3];
volatile __managed__ int last;
__constant__ volatile int constant = 5;
__device__ Pair pair;
__device__ volatile Pair volatile_pair;
__device__ Odd odd;
namespace {
__device__ volatile int hidden = 1;
}

__global__ void use_variables(int* out) {
  volatile __shared__ int lanes[32];
  __shared__ volatile int one;
  lanes[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x > 0) return;
  flag = pair.a = odd.a = 1;
  counter = 4;
  third = volatile_pair.b = 3;
  seen = 9;
  many[1] = 2;
  last = 6;
  one = 8;
  other = 1;
  out[0] = flag + turn + static_cast<int>(many_turns[3]) + fixed + counter + third + seen +
           static_cast<int>(many[1]) + last + constant + pair.a + one + lanes[31] + other +
           volatile_pair.b + odd.a + hidden;
}

__global__ void use_cluster(int* out) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ int five;
  if (threadIdx.x == 0) five = 5;
  cluster.sync();
  out[threadIdx.x] =
      cluster.num_blocks() * 100 + cluster.block_rank() + *cluster.map_shared_rank(&five, 0);
}
__global__ void __cluster_dims__(2, 1, 1) use_two(int* out) {
  out[blockIdx.x] = cg::this_cluster().block_rank();
}

// Block 0 comes last.
__global__ void wait_for(unsigned* ready, int* out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> all(*ready);
  if (blockIdx.x == 1) {
    out[1] = 3;
    all.store(1);
    all.notify_all();
  } else {
    all.wait(0);
    out[0] = out[1];
  }
}

int main(int count_of_words, char**) {
  int* out;
  unsigned* ready;
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMalloc(&ready, sizeof *ready);
  cudaMemset(ready, 0, sizeof *ready);
  cudaMemset(out, 0, 32 * sizeof(int));
  int host[32] = {};
  const auto fetch = [&] { cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost); };
  if (count_of_words > 1) {
    use_two<<<2, 1>>>(out);
    return 0;
  }
  const int five = 5;
  cudaMemcpyToSymbol(turn, &five, sizeof five);
  use_variables<<<1, 32>>>(out);
  fetch();
  int of_device = 0;
  cudaMemcpyFromSymbol(&of_device, flag, sizeof of_device);
  std::printf("variables: %d, %d %d %g %d\n", host[0], of_device, seen, many[1], last);
  use_cluster<<<1, 32>>>(out);
  fetch();
  std::printf("cluster: %d\n", host[7]);
  wait_for<<<2, 1>>>(ready, out);
  fetch();
  std::printf("atomic: %d\n", host[0]);
}
