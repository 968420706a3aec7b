#include <cmath>
#include <string>
#include <vector>

#include "simulator/trace/checks.h"
#include "simulator/trace/hopper_pipeline.h"

namespace {

// Empty, or "wrong result".
template <Mistake kMistake>
std::string result() {
  constexpr int K = 192, kRounds = 2;
  std::vector<float> a(128 * K), b(K * 128);
  for (int i = 0; i < 128 * K; ++i) {
    a[i] = static_cast<float>(i * 7 % 13 - 6);
    b[i] = static_cast<float>(i * 5 % 11 - 5);
  }
  const Array<float> on_a(a), on_b(b);
  Array<float> c(128 * 128);
  const TensorBox box{kTileRows, 32};
  const CUtensorMap map_a = tensor_map_2d(on_a.device, 128, K, K * 4, box);
  const CUtensorMap map_c = tensor_map_2d(c.device, 128, 128, 512, box);
  launch(
      multiply_pipelined<kMistake>, dim3(1), dim3(384), kPipelineBytes, map_a, map_c, on_b.device,
      K, kRounds);
  c.fetch();
  for (int row = 0; row < 128; ++row) {
    for (int n = 0; n < 128; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[row * K + k] * b[k * 128 + n];
      if (c.host[row * 128 + n] != sum) return "wrong result";
    }
  }
  return "";
}

// Shared by the small kernels below: a matrix of 64 x 64 numbers, boxes of 32 x 32, a buffer of 8
// KB and two barriers for one arrival, of which thread 0 has initialized the first.
using Body = void (*)(const CUtensorMap* map, char* buffer, std::uint64_t* barriers, float* out);

template <Body body>
__global__ void small(const __grid_constant__ CUtensorMap map, float* out) {
  extern __shared__ __align__(1024) char buffer[];
  __shared__ std::uint64_t barriers[2];
  if (threadIdx.x == 0) {
    mbarrier_init(&barriers[0], 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  body(&map, buffer, barriers, out);
}

template <int kThreads, Body body>
std::string run() {
  const Array<float> matrix(std::vector<float>(64 * 64, 3.0f));
  const Array<float> out(1024);
  const CUtensorMap map = tensor_map_2d(matrix.device, 64, 64, 256, {32, 32});
  launch(small<body>, dim3(2), dim3(kThreads), 8192, map, out.device);
  return "";
}

// Copies the box at column x of the matrix to `shared`, by thread 0.
__device__ void copy(const CUtensorMap* map, void* shared, int x, std::uint64_t* barrier) {
  if (threadIdx.x != 0) return;
  mbarrier_arrive_expect_tx(barrier, 4096);
  cp_async_bulk_tensor_2d(shared, map, x, 0, barrier);
}

// That chunk of 16 bytes of a row of 128 bytes.
__device__ float* chunk(char* buffer, int row, int number) {
  return reinterpret_cast<float*>(buffer + row * 128 + number * 16);
}

// By an operand that the threads store. Before the wait, thread 3 may store to it again.
template <bool has_fence, bool stores_again = false>
__device__ void multiply_stored(char* buffer) {
  for (int i = threadIdx.x; i < 2048; i += 128) reinterpret_cast<float*>(buffer)[i] = 1;
  if (has_fence) fence_proxy_async();
  __syncthreads();
  float d[32] = {};
  const unsigned a[4] = {};
  wgmma_fence();
  wgmma_m64nNk8_tf32(d, a, wgmma_descriptor_of_swizzled_tile(buffer));
  wgmma_commit_group();
  if (stores_again && threadIdx.x == 3) *reinterpret_cast<float*>(buffer) = 2;
  wgmma_wait_group<0>();
}

// Two groups of one multiplication each, of which that many stay in flight.
template <int in_flight>
__device__ __forceinline__ void multiply_twice(char* buffer, float (&d)[32], float (&e)[32]) {
  for (int i = threadIdx.x; i < 2048; i += 128) reinterpret_cast<float*>(buffer)[i] = 1;
  fence_proxy_async();
  __syncthreads();
  const unsigned a[4] = {};
  wgmma_fence();
  wgmma_m64nNk8_tf32(d, a, wgmma_descriptor_of_swizzled_tile(buffer));
  wgmma_commit_group();
  wgmma_m64nNk8_tf32(e, a, wgmma_descriptor_of_swizzled_tile(buffer));
  wgmma_commit_group();
  wgmma_wait_group<in_flight>();
}

// By 64 rows of 16 bf16 and by 16 rows of 64, from these addresses on: chunks 0 and 1 of 64 rows,
// which are swizzled, and all chunks of 16 rows. Before, thread 0 stores to one more chunk, if any.
__device__ void multiply_bf16(char* a, char* b, float* last = nullptr) {
  for (int i = threadIdx.x; i < 2048; i += 128) reinterpret_cast<float*>(a)[i] = 0;
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0 && last != nullptr) *last = 1;
  __syncthreads();
  float d[32] = {};
  wgmma_fence();
  wgmma_m64nNk16_bf16(
      d, wgmma_descriptor_of_swizzled_tile(a),
      wgmma_descriptor_of_transposed_boxes(*reinterpret_cast<char(*)[1][8192]>(b)));
  wgmma_commit_group();
  wgmma_wait_group<0>();
}

}  // namespace

// clang-format off
#define SMALL(threads)                                                                  \
  run < threads,                                                                        \
      [](const CUtensorMap* map [[maybe_unused]], char* buffer [[maybe_unused]],        \
         std::uint64_t* barriers [[maybe_unused]], float* out [[maybe_unused]])

#define F (reinterpret_cast<float*>(buffer))
// Every thread stores a number of the box, or of the buffer.
#define STORES_ITS(number) out[blockIdx.x * blockDim.x + threadIdx.x] = F[number]
#define WAITS(phase) mbarrier_wait(barriers, phase)
// Thread 0 copies a box, and then the threads do something.
#define COPIED(threads, ...)     \
  SMALL(threads) {               \
    copy(map, buffer, 0, barriers); \
    __VA_ARGS__;                 \
  }
// Two groups, of which so many stay in flight, and what follows.
#define TWICE(in_flight, second, ...)             \
  SMALL(128) {                                    \
    float d[32] = {}, e[32] [[maybe_unused]] = {}; \
    multiply_twice<in_flight>(buffer, d, second); \
    __VA_ARGS__;                                  \
  }
// Two boxes for one phase, which expects so many bytes.
#define TWO_BOXES(bytes)                                             \
  SMALL(32) {                                                        \
    if (threadIdx.x == 0) {                                          \
      mbarrier_arrive_expect_tx(barriers, bytes);                    \
      cp_async_bulk_tensor_2d(buffer, map, 0, 0, barriers);          \
      cp_async_bulk_tensor_2d(buffer + 4096, map, 32, 32, barriers); \
    }                                                                \
    WAITS(0);                                                        \
    STORES_ITS(1024 + threadIdx.x);                                  \
  }

extern const std::vector<trace::Misuse> trace::hopper_misuses = {
    {"a box that is waited for", COPIED(32, WAITS(0); STORES_ITS(threadIdx.x))>, ""},
    {"the thread that copies a box reads it without a wait",
     COPIED(32, if (threadIdx.x == 0) out[blockIdx.x] = F[0])>, "tile_not_waited_for"},
    {"__syncthreads does not wait for a box",
     COPIED(64, __syncthreads(); STORES_ITS(threadIdx.x))>, "tile_not_waited_for"},
    {"one warp waits for a box, and __syncthreads tells the others",
     COPIED(64, if (threadIdx.x < 32) WAITS(0); __syncthreads(); STORES_ITS(threadIdx.x))>, ""},
    {"one lane waits for a box, and __syncwarp tells the others",
     COPIED(32, if (threadIdx.x == 5) WAITS(0); __syncwarp(); STORES_ITS(threadIdx.x))>, ""},
    {"one warp waits for a box, and another reads it",
     COPIED(64, if (threadIdx.x < 32) WAITS(0); STORES_ITS(threadIdx.x))>, "tile_not_waited_for"},
    {"a store to where a box is on its way", COPIED(32, if (threadIdx.x == 0) F[0] = 1; WAITS(0))>,
     "tile_not_waited_for"},
    {"a box over what a thread stored, without a fence", SMALL(32) {
       if (threadIdx.x == 0) F[0] = 1;
       copy(map, buffer, 0, barriers);
       WAITS(0);
     }>, "not_fenced"},
    {"a box over what a thread stored, with a fence", SMALL(32) {
       if (threadIdx.x == 0) F[0] = 1;
       fence_proxy_async();
       copy(map, buffer, 0, barriers);
       WAITS(0);
     }>, ""},
    {"a box over what other threads still read", COPIED(64,
       WAITS(0); STORES_ITS(threadIdx.x); copy(map, buffer, 32, barriers); WAITS(1))>, "race"},
    {"a box over what other threads have read", COPIED(64,
       WAITS(0); STORES_ITS(threadIdx.x); __syncthreads(); copy(map, buffer, 32, barriers);
       WAITS(1))>, ""},
    {"two boxes for one phase", TWO_BOXES(8192)>, ""},
    {"two boxes, and the bytes of one", TWO_BOXES(4096)>, "tile_not_waited_for"},
    {"a barrier that nobody initialized", SMALL(32) { mbarrier_arrive(&barriers[1]); }>,
     "uses an mbarrier that no thread of the block has initialized"},
    {"a barrier for no arrivals", SMALL(32) { mbarrier_init(&barriers[1], 0); }>,
     "initializes an mbarrier for 0 arrivals"},
    {"a barrier in global memory", SMALL(32) {
       mbarrier_init(reinterpret_cast<std::uint64_t*>(out), 1);
     }>, "an mbarrier that is not in shared memory"},
    {"a barrier at a bad address", SMALL(32) {
       mbarrier_init(reinterpret_cast<std::uint64_t*>(buffer + 4), 1);
     }>, "whose address is not a multiple of 8"},
    {"a barrier that a store overwrites", SMALL(32) {
       if (threadIdx.x == 0) barriers[0] = 1;
       __syncthreads();
       mbarrier_arrive(barriers);
     }>, "a store to shared memory has overwritten"},
    {"a box over a barrier", SMALL(32) {
       if (threadIdx.x == 0) mbarrier_init(reinterpret_cast<std::uint64_t*>(buffer + 64), 1);
       copy(map, buffer, 0, barriers);
     }>, "shared memory that holds an mbarrier"},
    {"a box at a bad address", SMALL(32) { copy(map, buffer + 128, 0, barriers); }>,
     "it must be a multiple of 1024"},
    {"a box beyond the buffer", SMALL(32) { copy(map, buffer + 5120, 0, barriers); }>,
     "where no array has so many"},
    {"a box from a bad column", SMALL(32) { copy(map, buffer, 2, barriers); }>,
     "a box from column 2 on; it must be a multiple of 4"},
    {"a map that is none", SMALL(32) {
       copy(reinterpret_cast<const CUtensorMap*>(out), buffer, 0, barriers);
     }>, "a tensor map that tensor_map_2d did not make"},
    {"more bytes than a phase counts", SMALL(32) {
       if (threadIdx.x == 0) mbarrier_arrive_expect_tx(barriers, 1u << 20);
     }>, "more bytes at an mbarrier than one phase can count"},
    {"one warp waits at a barrier, and another at __syncthreads", SMALL(64) {
       if (threadIdx.x < 32) {
         mbarrier_wait(barriers, 0);
       } else {
         __syncthreads();
         mbarrier_arrive(barriers);
       }
     }>, "forever: 1 of 1 arrivals is missing in phase 0"},
    {"nobody arrives, and two warps have stored the same number", SMALL(64) {
       F[0] = 1;
       mbarrier_wait(barriers, 0);
     }>, "forever: 1 of 1 arrivals is missing in phase 0"},
    {"one lane waits at a barrier, and the others at __syncwarp", SMALL(32) {
       if (threadIdx.x == 0) mbarrier_wait(barriers, 0);
       __syncwarp();
       if (threadIdx.x == 1) mbarrier_arrive(barriers);
     }>, "forever: 1 of 1 arrivals is missing in phase 0"},
    {"half a block at a named barrier", SMALL(64) {
       F[threadIdx.x] = 1;
       if (threadIdx.x >= 32) return;
       bar_sync(3, 32);
       STORES_ITS(31 - threadIdx.x);
     }>, ""},
    {"a named barrier of one warp does not order another", SMALL(64) {
       F[threadIdx.x] = 1;
       bar_sync(threadIdx.x < 32 ? 3 : 4, 32);
       STORES_ITS(63 - threadIdx.x);
     }>, "race"},
    {"a named barrier for 31 threads", SMALL(32) { bar_sync(1, 31); }>, "bar_sync(1, 31)"},
    {"barrier 0 by name", SMALL(32) { bar_sync(0, 32); }>, "bar_sync(0, 32)"},
    {"a named barrier for different numbers of threads", SMALL(64) {
       bar_sync(1, threadIdx.x < 32 ? 64 : 32);
     }>, "comes to barrier 1 for 32 threads, and others came to it for 64"},
    {"half a warpgroup", SMALL(64) { wgmma_wait_group<0>(); }>,
     "its warpgroup has fewer than 128 threads"},
    {"too few registers", SMALL(128) { setmaxnreg_dec<16>(); }>, "setmaxnreg_dec for 16 registers"},
    {"an operand beyond the buffer", SMALL(128) {
       float d[32];
       const unsigned a[4] = {};
       wgmma_fence();
       wgmma_m64nNk8_tf32(d, a, wgmma_descriptor_of_swizzled_tile(buffer + 1024));
     }>, "which are not in one array of shared memory"},
    {"an operand in global memory", SMALL(128) {
       out[0] = static_cast<float>(wgmma_descriptor_of_swizzled_tile(out));
     }>, "the shared address of something that is not in shared memory"},
    {"an operand that a thread stored, without a fence",
     SMALL(128) { multiply_stored<false>(buffer); }>, "not_fenced"},
    {"an operand that a thread stored, with a fence",
     SMALL(128) { multiply_stored<true>(buffer); }>, ""},
    {"a store to an operand before the wait",
     SMALL(128) { multiply_stored<true, true>(buffer); }>, "race tile_in_use"},
    {"a store to the transposed operand of bf16, without a fence",
     SMALL(128) { multiply_bf16(buffer, buffer, chunk(buffer, 5, 3)); }>, "not_fenced"},
    {"a store to the other operand of bf16, without a fence",
     SMALL(128) { multiply_bf16(buffer, buffer, chunk(buffer, 20, 4)); }>, "not_fenced"},
    {"a store beside both operands of bf16",
     SMALL(128) { multiply_bf16(buffer, buffer, chunk(buffer, 20, 3)); }>, ""},
    {"a transposed operand beyond shared memory",
     SMALL(128) { multiply_bf16(buffer, buffer + 7168); }>,
     "which are not in one array of shared memory"},
    {"a sum that is read while the last of two groups adds to it",
     TWICE(1, d, out[blockIdx.x * 128 + threadIdx.x] = d[0]; wgmma_wait_group<0>())>,
     "sum_in_flight"},
    {"a sum that is copied while the tensor cores add to it", SMALL(128) {
       struct { float d[32] = {}; } sums, copy;
       multiply_twice<1>(buffer, sums.d, sums.d);
       copy = sums;
       wgmma_wait_group<0>();
       out[blockIdx.x * 128 + threadIdx.x] = copy.d[0];
     }>, "sum_in_flight"},
    {"a sum of the first group while the second has others in flight", TWICE(1, e,
       out[blockIdx.x * 128 + threadIdx.x] = d[0]; wgmma_wait_group<0>();
       out[blockIdx.x * 128 + threadIdx.x] += e[0])>, ""},
    {"a sum after all groups", TWICE(0, d, out[blockIdx.x * 128 + threadIdx.x] = d[0])>, ""},
    {"a change of a register between the fence and wgmma", SMALL(128) {
       float d[32] = {};
       unsigned a[4] = {};
       wgmma_fence();
       a[3] = 1;
       wgmma_m64nNk8_tf32(d, a, wgmma_descriptor_of_swizzled_tile(buffer));
     }>, "changes the registers of a between wgmma_fence() and wgmma"},
};

#define MUTANT(mistake, finds) {#mistake, result<Mistake::mistake>, finds},

extern const std::vector<trace::Misuse> trace::hopper_mutants = {MISTAKES(MUTANT)};
