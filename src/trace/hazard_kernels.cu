#include "trace/hazard_kernels.h"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "cuda/launch.h"

namespace {

namespace cg = cooperative_groups;

// What a kernel gets: `in` and `out` of the caller; 1024 floats and 64 flags that are 0, both of
// cudaMalloc.
using Body = void (*)(const float* in, float* out, float* partial, unsigned* flags);

template <Body body>
__global__ void kernel(const float* in, float* out, float* partial, unsigned* flags) {
  body(in, out, partial, flags);
}

template <int kBlocks, int kThreads, Body body>
void run(const float* in, float* out) {
  float* partial;
  unsigned* flags;
  cudaMalloc(&partial, 1024 * sizeof(float));
  cudaMalloc(&flags, 64 * sizeof(unsigned));
  cudaMemset(partial, 0, 1024 * sizeof(float));
  cudaMemset(flags, 0, 64 * sizeof(unsigned));
  launch(kernel<body>, dim3(kBlocks), dim3(kThreads), 64 * sizeof(float), in, out, partial, flags);
  cudaFree(partial);
  cudaFree(flags);
}

constexpr unsigned kAll = 0xffffffffu;

struct Padded {
  char tag;
  float value;
};
struct Twelve {
  float x, y, z;
};

__device__ float sum_of_warp(float value) {
  for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(kAll, value, d);
  return value;
}
// Mark Harris's last six steps, as they were right before Volta.
__device__ void volatile_steps(volatile float* s, unsigned t) {
  for (unsigned d = 16; d > 0; d /= 2) s[t] = s[t] + s[t + d];
}

}  // namespace

// (clang-format takes the lambdas in KERNEL<> apart.)
// clang-format off
#define T (threadIdx.x)
#define B (blockIdx.x)
#define KERNEL(blocks, threads) run<blocks, threads, [](const float* in [[maybe_unused]], \
    float* out [[maybe_unused]], float* partial [[maybe_unused]], unsigned* flags [[maybe_unused]])

extern const std::vector<trace::HazardKernel> trace::hazard_kernels = {
    // Shared memory, to the byte.
    {"flags in an array of bool", KERNEL(1, 64) {
       __shared__ bool seen[64];
       seen[T] = 3 < in[T];
       __syncthreads();
       out[T] = seen[63 - T];
     }>, ""},
    {"each thread reads and writes its own char", KERNEL(1, 64) {
       __shared__ char s[64];
       s[T] = T;
       out[T] = s[T];
     }>, ""},
    {"neighbours' shorts without a barrier", KERNEL(1, 64) {
       __shared__ short s[64];
       s[T] = T;
       out[T] = s[T ^ 1];
     }>, "race"},
    {"a char that two threads store", KERNEL(1, 64) {
       __shared__ char s[64];
       s[T / 2] = T;
       __syncthreads();
       out[T] = s[T / 2];
     }>, "race"},
    {"bytes stored one by one, loaded as a word", KERNEL(1, 64) {
       __shared__ __align__(4) unsigned char s[64];
       s[T] = T;
       __syncthreads();
       if (T < 16) out[T] = reinterpret_cast<const unsigned*>(s)[T];
     }>, ""},
    {"a word that is loaded while one byte of it is stored", KERNEL(1, 64) {
       __shared__ __align__(4) unsigned char s[64];
       s[T] = T;
       __syncthreads();
       if (T == 5) s[7] = 1;
       if (T == 40) out[0] = reinterpret_cast<const unsigned*>(s)[1];
     }>, "race"},
    {"a struct with padding, stored member by member and copied", KERNEL(1, 64) {
       __shared__ Padded s[64];
       s[T].tag = 1;
       s[T].value = in[T];
       __syncthreads();
       const Padded other = s[63 - T];
       out[T] = other.value + other.tag;
     }>, ""},
    {"structs of 12 bytes without a barrier", KERNEL(1, 64) {
       __shared__ Twelve s[64];
       s[T] = {in[T], 1, 2};
       out[T] = s[63 - T].z;
     }>, "race"},
    {"a bool flag that one thread sets and all read, without a barrier", KERNEL(1, 64) {
       __shared__ bool found;
       if (T == 0) found = false;
       __syncthreads();
       if (in[T] == 40) found = true;
       out[T] = found;
     }>, "race"},
    {"nobody has stored the last element", KERNEL(1, 64) {
       __shared__ float s[65];
       s[T] = in[T];
       __syncthreads();
       out[T] = s[T + 1];
     }>, "uninitialized"},
    {"a sum that is never set to zero", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] += in[T];
       out[T] = s[T];
     }>, "uninitialized"},
    {"an atomic counter that is never set to zero", KERNEL(1, 64) {
       __shared__ int count;
       atomicAdd(&count, 1);
       __syncthreads();
       out[T] = count;
     }>, "uninitialized"},
    {"a counter that is set to zero by all, to the same value", KERNEL(1, 32) {
       __shared__ int count;
       if (T == 0) count = 0;
       __syncthreads();
       atomicAdd(&count, 1);
       __syncthreads();
       out[T] = count;
     }>, ""},
    // Races among three.
    {"two warps read, and one of them writes behind a __syncwarp", KERNEL(1, 64) {
       __shared__ float s[32];
       if (T < 32) s[T] = in[T];
       __syncthreads();
       const float mine = s[0];
       __syncwarp();
       if (T == 32) s[0] = 1;
       out[T] = mine;
     }>, "race"},
    {"three warps read, and the last writes what the first read", KERNEL(1, 96) {
       __shared__ float s[32];
       if (T < 32) s[T] = in[T];
       __syncthreads();
       out[T] = s[0];
       __syncwarp();
       if (T == 95) s[0] = 1;
     }>, "race"},
    {"two warps add atomically, and one of them reads behind a __syncwarp", KERNEL(1, 64) {
       __shared__ int sum;
       if (T == 0) sum = 0;
       __syncthreads();
       atomicAdd(&sum, 1);
       __syncwarp();
       if (T == 32) out[0] = sum;
     }>, "race"},
    {"a histogram", KERNEL(1, 64) {
       __shared__ unsigned bins[8];
       if (T < 8) bins[T] = 0;
       __syncthreads();
       atomicAdd(&bins[T % 8], 1u);
       __syncthreads();
       if (T < 8) out[T] = bins[T];
     }>, ""},
    {"a histogram whose bins are set to zero without a barrier", KERNEL(1, 64) {
       __shared__ unsigned bins[8];
       if (T < 8) bins[T] = 0;
       atomicAdd(&bins[T % 8], 1u);
       __syncthreads();
       if (T < 8) out[T] = bins[T];
     }>, "race"},
    {"a tree that reduces with its barrier inside of the branch's loop", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 32; d != 0; d /= 2) {
         if (T < d) s[T] += s[T + d];
         __syncthreads();
       }
       if (T == 0) out[0] = s[0];
     }>, ""},
    {"a tree that reduces without its barrier", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 32; d != 0; d /= 2) {
         if (T < d) s[T] += s[T + d];
       }
       if (T == 0) out[0] = s[0];
     }>, "race"},
    {"a tile that is overwritten before all have read it", KERNEL(1, 64) {
       __shared__ float s[64];
       float sum = 0;
       for (int k = 0; k < 4; ++k) {
         s[T] = in[64 * k + T];
         __syncthreads();
         for (int i = 0; i < 64; ++i) sum += s[i];
       }
       out[T] = sum;
     }>, "race"},
    {"two buffers and one barrier a step", KERNEL(1, 64) {
       __shared__ float s[2][64];
       float sum = 0;
       s[0][T] = in[T];
       __syncthreads();
       for (int k = 0; k < 4; ++k) {
         if (k < 3) s[(k + 1) % 2][T] = in[64 * (k + 1) + T];
         for (int i = 0; i < 64; ++i) sum += s[k % 2][i];
         __syncthreads();
       }
       out[T] = sum;
     }>, ""},
    {"a scan by Hillis and Steele, in place, one barrier short", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 1; d < 64; d *= 2) {
         if (T >= d) s[T] += s[T - d];
         __syncthreads();
       }
       out[T] = s[T];
     }>, "race"},
    {"a scan by Hillis and Steele", KERNEL(1, 64) {
       __shared__ float s[64];
       s[T] = in[T];
       __syncthreads();
       for (unsigned d = 1; d < 64; d *= 2) {
         const float before = T >= d ? s[T - d] : 0;
         __syncthreads();
         s[T] += before;
         __syncthreads();
       }
       out[T] = s[T];
     }>, ""},
    // Lanes of a warp, tiles, masks.
    {"lanes that rely on running in step", KERNEL(1, 32) {
       __shared__ float s[32];
       s[T] = in[T];
       out[T] = s[31 - T];
     }>, "race"},
    {"volatile steps of a warp, as before Volta", KERNEL(1, 32) {
       __shared__ float s[64];
       s[T] = in[T];
       s[T + 32] = 0;
       __syncwarp();
       volatile_steps(s, T);
       out[T] = s[T];
     }>, "race"},
    {"__syncwarp of the lower half orders the lower half", KERNEL(1, 32) {
       __shared__ float s[32];
       s[T] = in[T];
       if (T < 16) {
         __syncwarp(0x0000ffffu);
         out[T] = s[15 - T];
       }
     }>, ""},
    {"__syncwarp of the lower half does not order the upper", KERNEL(1, 32) {
       __shared__ float s[32];
       s[T] = in[T];
       if (T < 16) {
         __syncwarp(0x0000ffffu);
         out[T] = s[16 + T];
       }
     }>, "race"},
    {"a tile of 8 reads its own part", KERNEL(1, 64) {
       __shared__ float s[64];
       const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
       s[T] = in[T];
       tile.sync();
       out[T] = s[T ^ 7];
     }>, ""},
    {"a tile of 8 reads its neighbour's part", KERNEL(1, 64) {
       __shared__ float s[64];
       const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
       s[T] = in[T];
       tile.sync();
       out[T] = s[T ^ 8];
     }>, "race"},
    {"a tile of 4 in a tile of 16", KERNEL(1, 64) {
       __shared__ float s[64];
       const auto half = cg::tiled_partition<16>(cg::this_thread_block());
       const auto tile = cg::tiled_partition<4>(half);
       s[T] = in[T];
       half.sync();
       const float other = s[T ^ 15];
       tile.sync();
       s[T] = other;
       tile.sync();
       out[T] = s[T ^ 3];
     }>, "race"},
    {"tiles in lockstep, the smaller behind the larger", KERNEL(1, 64) {
       __shared__ float s[64];
       const auto half = cg::tiled_partition<16>(cg::this_thread_block());
       const auto tile = cg::tiled_partition<4>(half);
       s[T] = in[T];
       half.sync();
       const float other = s[T ^ 15];
       half.sync();
       s[T] = other;
       tile.sync();
       out[T] = s[T ^ 3];
     }>, ""},
    {"each half of a warp behind a __syncwarp of its own", KERNEL(1, 32) {
       __shared__ float s[32];
       s[T] = in[T];
       if (T < 16) {
         __syncwarp(0x0000ffffu);
         out[T] = s[15 - T];
       } else {
         __syncwarp(0xffff0000u);
         out[T] = s[47 - T];
       }
     }>, ""},
    {"either half of a warp meets the other at a __syncwarp of its own", KERNEL(1, 32) {
       __shared__ float s[32];
       if (T < 16) {
         __syncwarp();
         out[T] = s[T + 16];
       } else {
         s[T] = in[T];
         __syncwarp();
       }
     }>, ""},
    {"a lane waits for a volatile flag of another lane", KERNEL(1, 32) {
       __shared__ float s;
       __shared__ volatile int ready;
       if (T == 0) ready = 0;
       __syncwarp();
       if (T == 0) {
         s = in[7];
         __threadfence_block();
         ready = 1;
       } else {
         while (ready == 0) {
         }
         out[T] = s;
       }
     }>, ""},
    {"lane 1 waits for a volatile flag of lane 30", KERNEL(1, 32) {
       __shared__ float s;
       __shared__ volatile int ready;
       if (T == 0) ready = 0;
       __syncwarp();
       if (T == 30) {
         s = in[7];
         __threadfence_block();
         ready = 1;
       } else if (T == 1) {
         while (ready == 0) {
         }
         out[T] = s;
       }
     }>, ""},
    {"a shuffle orders nothing in memory", KERNEL(1, 32) {
       __shared__ float s[32];
       s[T] = in[T];
       const float other = __shfl_xor_sync(kAll, in[T], 1);
       out[T] = s[31 - T] + other;
     }>, "race"},
    {"a vote orders nothing in memory", KERNEL(1, 32) {
       __shared__ float s[32];
       s[T] = in[T];
       if (__any_sync(kAll, in[T] > 0)) out[T] = s[31 - T];
     }>, "race"},
    {"a shuffle from a lane outside of the mask", KERNEL(1, 32) {
       float value = in[T];
       if (T < 20) value += __shfl_down_sync(0x000fffffu, value, 16);
       out[T] = value;
     }>, "nothing_shuffled"},
    {"a shuffle in a warp of which half has left", KERNEL(1, 32) {
       if (T >= 16) return;
       out[T] = __shfl_down_sync(kAll, in[T], 8);
     }>, "nothing_shuffled"},
    {"a shuffle in a block of 48 threads", KERNEL(1, 48) {
       out[T] = sum_of_warp(in[T]);
     }>, "nothing_shuffled"},
    {"a shuffle in segments of 12", KERNEL(1, 32) {
       out[T] = __shfl_down_sync(kAll, in[T], 3, 12);
     }>, "bad_width"},
    {"a shuffle in segments of 64", KERNEL(1, 32) {
       out[T] = __shfl_xor_sync(kAll, in[T], 3, 64);
     }>, "bad_width"},
    {"a reduction by shuffles and one array of warps", KERNEL(1, 128) {
       __shared__ float sums[4];
       const float sum = sum_of_warp(in[T]);
       if (T % 32 == 0) sums[T / 32] = sum;
       __syncthreads();
       if (T < 32) {
         const float all = sum_of_warp(T < 4 ? sums[T] : 0);
         if (T == 0) out[0] = all;
       }
     }>, ""},
    {"coalesced threads that add", KERNEL(1, 32) {
       __shared__ int count;
       if (T == 0) count = 0;
       __syncthreads();
       if (7 < in[T]) {
         const cg::coalesced_group active = cg::coalesced_threads();
         int base = 0;
         if (active.thread_rank() == 0) base = atomicAdd(&count, static_cast<int>(active.size()));
         base = active.shfl(base, 0);
         out[base + active.thread_rank()] = in[T];
       }
     }>, ""},
    // Global memory.
    {"beta * C, read and written by its owner", KERNEL(2, 64) {
       out[64 * B + T] = 2 * out[64 * B + T] + in[T];
     }>, ""},
    {"a block loads what another one stores", KERNEL(2, 64) {
       out[64 * B + T] = in[T];
       if (B == 1) partial[T] = out[T];
     }>, "race_between_blocks"},
    {"a block loads what another one stores later", KERNEL(2, 64) {
       if (B == 0) partial[T] = out[64 + T];
       if (B == 1) out[64 + T] = in[T];
     }>, "race_between_blocks"},
    {"a thread loads the result of its neighbour without a barrier", KERNEL(1, 64) {
       out[T] = in[T];
       partial[T] = out[63 - T];
     }>, "race"},
    {"a thread loads the result of its neighbour behind a barrier", KERNEL(1, 64) {
       out[T] = in[T];
       __syncthreads();
       partial[T] = out[63 - T];
     }>, ""},
    {"the result is shifted in place", KERNEL(4, 64) {
       const unsigned i = 64 * B + T;
       const float next = i + 1 < 256 ? out[i + 1] : 0;
       out[i] = next;
     }>, "race race_between_blocks"},
    {"two blocks store the same element", KERNEL(2, 64) {
       out[T] = B;
     }>, "race_on_result"},
    {"two threads store the same element", KERNEL(1, 64) {
       out[T / 2] = T;
     }>, "race_on_result"},
    {"two threads store the same element, one behind a barrier", KERNEL(1, 64) {
       if (T < 32) out[T] = in[T];
       __syncthreads();
       if (T >= 32) out[T - 32] += in[T];
     }>, ""},
    {"bytes of one word of the result by two blocks", KERNEL(2, 2) {
       reinterpret_cast<char*>(out)[2 * B + T] = 1;
     }>, ""},
    {"split K adds atomically", KERNEL(4, 64) {
       atomicAdd(&out[T], in[64 * B + T]);
     }>, ""},
    {"split K adds without atomics", KERNEL(4, 64) {
       out[T] += in[64 * B + T];
     }>, "race_between_blocks race_on_result"},
    {"__ldg of what the launch stores", KERNEL(1, 64) {
       out[T] = in[T];
       __syncthreads();
       partial[T] = __ldg(&out[63 - T]);
     }>, "read_only_is_stored"},
    {"__ldg of what nobody stores", KERNEL(2, 64) {
       out[64 * B + T] = __ldg(&in[T]) + __ldg(&partial[T]);
     }>, ""},
    {"the last block adds up the partial sums", KERNEL(4, 64) {
       __shared__ bool is_last;
       const float sum = sum_of_warp(in[64 * B + T]);
       if (T == 0) {
         partial[B] = sum;
         __threadfence();
         is_last = atomicInc(&flags[0], 3) == 3;
       }
       __syncthreads();
       if (is_last && T == 0) out[0] = partial[0] + partial[1] + partial[2] + partial[3];
     }>, ""},
    {"the last block without a __threadfence", KERNEL(4, 64) {
       __shared__ bool is_last;
       const float sum = sum_of_warp(in[64 * B + T]);
       if (T == 0) {
         partial[B] = sum;
         is_last = atomicAdd(&flags[0], 1u) == 3;
       }
       __syncthreads();
       if (is_last && T == 0) out[0] = partial[0] + partial[1] + partial[2] + partial[3];
     }>, "race_between_blocks"},
    {"the last block, where all threads store", KERNEL(4, 64) {
       __shared__ unsigned ticket;
       partial[64 * B + T] = in[64 * B + T];
       __threadfence();
       __syncthreads();
       if (T == 0) ticket = atomicAdd(&flags[0], 1u);
       __syncthreads();
       if (ticket == 3) out[T] = partial[T] + partial[64 + T] + partial[128 + T] + partial[192 + T];
     }>, ""},
    {"no counter: block 0 adds up what the others store", KERNEL(4, 64) {
       partial[64 * B + T] = in[T];
       __threadfence();
       if (B == 0) out[T] = partial[T] + partial[64 + T];
     }>, "race_between_blocks"},
    {"stream-K: the first block waits for the second one's part", KERNEL(2, 64) {
       if (B == 1) {
         partial[T] = in[T];
         __threadfence();
         __syncthreads();
         if (T == 0) atomicExch(&flags[0], 1u);
       } else {
         if (T == 0) {
           while (atomicAdd(&flags[0], 0u) == 0) {
           }
         }
         __syncthreads();
         out[T] = in[T] + partial[T];
       }
     }>, ""},
    {"stream-K with a volatile flag, in a chain", KERNEL(4, 32) {
       volatile unsigned* const ready = flags;
       float sum = in[T];
       if (B < 3) {
         while (ready[B + 1] == 0) {
         }
         __syncwarp();
         sum += partial[32 * (B + 1) + T];
       }
       partial[32 * B + T] = sum;
       __threadfence();
       __syncwarp();
       if (T == 0) ready[B] = 1;
       if (B == 0) out[T] = sum;
     }>, ""},
    {"stream-K whose flag is set before the part is stored", KERNEL(2, 64) {
       if (B == 1) {
         __threadfence();
         if (T == 0) atomicAdd(&flags[0], 1u);
         __syncthreads();
         partial[T] = in[T];
       } else {
         if (T == 0) {
           while (atomicAdd(&flags[0], 0u) == 0) {
           }
         }
         __syncthreads();
         out[T] = in[T] + partial[T];
       }
     }>, "race_between_blocks"},
    {"a barrier of all blocks, made of a counter", KERNEL(4, 64) {
       partial[64 * B + T] = in[T];
       __syncthreads();
       if (T == 0) {
         __threadfence();
         atomicAdd(&flags[0], 1u);
         while (*reinterpret_cast<volatile unsigned*>(&flags[0]) < 4) __nanosleep(100);
         __threadfence();
       }
       __syncthreads();
       out[64 * B + T] = partial[64 * (3 - B) + T];
     }>, ""},
    {"a barrier of the whole grid", KERNEL(4, 64) {
       partial[64 * B + T] = in[T];
       cg::this_grid().sync();
       const float other = partial[64 * (3 - B) + T];
       cg::this_grid().sync();
       partial[64 * B + T] = other;
     }>, ""},
    {"a barrier of the block where it takes one of the grid", KERNEL(4, 64) {
       partial[64 * B + T] = in[T];
       cg::this_grid().sync();
       const float other = partial[64 * (3 - B) + T];
       cg::sync(cg::this_thread_block());
       partial[64 * B + T] = other;
     }>, "race_between_blocks"},
    {"a ticket by atomicInc that gives every block another part", KERNEL(4, 64) {
       __shared__ unsigned ticket;
       if (T == 0) ticket = atomicInc(&flags[1], 100);
       __syncthreads();
       out[64 * ticket + T] = in[T];
     }>, ""},
    {"parts that are reused: a buffer handed to and fro by two blocks", KERNEL(2, 32) {
       volatile unsigned* const turn = flags;
       for (unsigned i = 0; i < 3; ++i) {
         while (*turn != 2 * i + B) {
         }
         __threadfence();
         __syncwarp();
         partial[T] = partial[T] + in[T];
         __threadfence();
         __syncwarp();
         if (T == 0) *turn = 2 * i + B + 1;
       }
     }>, ""},
    {"every thread of the consumer waits for its own element", KERNEL(1, 64) {
       __shared__ float s[32];
       __shared__ int ready[32];
       if (T < 32) ready[T] = 0;
       __syncthreads();
       if (T < 32) {
         while (atomicAdd(&ready[T], 0) == 0) {
         }
         out[T] = s[T];
       } else {
         s[T - 32] = in[T];
         __threadfence_block();
         atomicExch(&ready[T - 32], 1);
       }
     }>, ""},
    {"producers and consumers that hand buffers over and back by flags", KERNEL(1, 64) {
       __shared__ float s[32];
       __shared__ volatile int full, empty;
       if (T == 0) {
         full = 0;
         empty = 1;
       }
       __syncthreads();
       float sum = 0;
       for (int k = 0; k < 4; ++k) {
         if (T < 32) {
           while (full != k + 1) {
           }
           sum += s[T];
           __threadfence_block();
           __syncwarp();
           if (T == 0) empty = k + 2;
         } else {
           while (empty != k + 1) {
           }
           s[T - 32] = in[32 * k + T];
           __threadfence_block();
           __syncwarp();
           if (T == 32) full = k + 1;
         }
       }
       if (T < 32) out[T] = sum;
     }>, ""},
    {"the consumer does not say that the buffer is empty before it has read it", KERNEL(1, 64) {
       __shared__ float s[32];
       __shared__ volatile int full, empty;
       if (T == 0) {
         full = 0;
         empty = 1;
       }
       __syncthreads();
       float sum = 0;
       for (int k = 0; k < 2; ++k) {
         if (T < 32) {
           while (full != k + 1) {
           }
           __threadfence_block();
           __syncwarp();
           if (T == 0) empty = k + 2;
           sum += s[T];
         } else {
           while (empty != k + 1) {
           }
           s[T - 32] = in[32 * k + T];
           __threadfence_block();
           __syncwarp();
           if (T == 32) full = k + 1;
         }
       }
       if (T < 32) out[T] = sum;
     }>, "race"},
    {"a lock around the result", KERNEL(4, 32) {
       if (T == 0) {
         while (atomicCAS(&flags[0], 0u, 1u) != 0) {
         }
         __threadfence();
         out[0] += in[B];
         __threadfence();
         atomicExch(&flags[0], 0u);
       }
     }>, ""},
    {"a lock around a sum in shared memory", KERNEL(1, 64) {
       __shared__ int lock;
       __shared__ float sum;
       if (T == 0) {
         lock = 0;
         sum = 0;
       }
       __syncthreads();
       for (bool done = false; !done;) {
         if (atomicCAS(&lock, 0, 1) == 0) {
           sum += in[T];
           __threadfence_block();
           atomicExch(&lock, 0);
           done = true;
         }
       }
       __syncthreads();
       out[T] = sum;
     }>, ""},
    // Warps with different tasks.
    {"producers and consumers, with barriers in either branch", KERNEL(1, 64) {
       __shared__ float s[2][32];
       if (T < 32) {
         for (int k = 0; k < 4; ++k) {
           s[k % 2][T] = in[32 * k + T];
           __syncthreads();
         }
       } else {
         float sum = 0;
         for (int k = 0; k < 4; ++k) {
           __syncthreads();
           sum += s[k % 2][T - 32];
         }
         out[T] = sum;
       }
     }>, "several_barriers"},
    {"producers that are one buffer too early", KERNEL(1, 64) {
       __shared__ float s[32];
       if (T < 32) {
         for (int k = 0; k < 4; ++k) {
           s[T] = in[32 * k + T];
           __syncthreads();
         }
       } else {
         float sum = 0;
         for (int k = 0; k < 4; ++k) {
           __syncthreads();
           sum += s[T - 32];
         }
         out[T] = sum;
       }
     }>, "race several_barriers"},
    {"a consumer that waits for a volatile flag", KERNEL(1, 64) {
       __shared__ float s[32];
       __shared__ volatile int ready;
       if (T == 0) ready = 0;
       __syncthreads();
       if (T < 32) {
         if (T == 0) {
           while (ready == 0) {
           }
         }
         __syncwarp();
         out[T] = s[T];
       } else {
         s[T - 32] = in[T];
         __threadfence_block();
         __syncwarp();
         if (T == 32) ready = 1;
       }
     }>, ""},
    {"a consumer that does not wait for the flag", KERNEL(1, 64) {
       __shared__ float s[32];
       __shared__ int ready;
       if (T == 0) ready = 0;
       __syncthreads();
       if (T < 32) {
         out[T] = s[T];
       } else {
         s[T - 32] = in[T];
         __threadfence_block();
         __syncwarp();
         if (T == 32) atomicAdd(&ready, 1);
       }
     }>, "race"},
    {"a flag without a fence", KERNEL(1, 64) {
       __shared__ float s[32];
       __shared__ volatile int ready;
       if (T == 0) ready = 0;
       __syncthreads();
       if (T >= 32) {
         while (ready == 0) {
         }
         out[T] = s[T - 32];
       } else {
         s[T] = in[T];
         __syncwarp();
         if (T == 0) ready = 1;
       }
     }>, "race"},
    // Barriers.
    {"threads behind the edge leave before the barrier", KERNEL(1, 64) {
       __shared__ float s[64];
       if (T >= 50) return;
       s[T] = in[T];
       __syncthreads();
       out[T] = s[49 - T];
     }>, "threads_left"},
    {"a barrier in a branch that half a warp takes", KERNEL(1, 64) {
       if (T < 16) {
         __syncthreads();
       } else {
         __syncthreads();
       }
       out[T] = 1;
     }>, "barrier_divergence"},
    {"one warp comes to one barrier more", KERNEL(1, 64) {
       __shared__ float s[64];
       if (T < 32) __syncthreads();
       s[T] = in[T];
       __syncthreads();
       out[T] = s[63 - T];
     }>, "barrier_divergence race several_barriers"},
    {"warps leave a loop with a barrier one after the other", KERNEL(1, 128) {
       for (unsigned i = 0; i <= T / 32; ++i) __syncthreads();
       out[T] = 1;
     }>, "threads_left"},
    // cp.async.
    {"cp.async in two steps", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       __syncthreads();
       out[T] = s[63 - T];
     }>, ""},
    {"cp.async that is not waited for", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       __syncthreads();
       out[T] = s[63 - T];
     }>, "copy_not_waited_for"},
    {"cp.async, waited for, without a barrier", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = s[63 - T];
     }>, "race"},
    {"a store over a cp.async on its way", KERNEL(1, 64) {
       __shared__ float s[64];
       __pipeline_memcpy_async(&s[T], &in[T], 4);
       __pipeline_commit();
       s[T] = 0;
       __pipeline_wait_prior(0);
       out[T] = s[T];
     }>, "copy_not_waited_for"},
    {"cp.async of 12 bytes", KERNEL(1, 16) {
       __shared__ Twelve s[16];
       __pipeline_memcpy_async(&s[T], in + 4 * T, 12);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = 1;
     }>, "copy_of_bad_size"},
    {"cp.async that fills more with zeros than it copies", KERNEL(1, 16) {
       __shared__ float s[16];
       __pipeline_memcpy_async(&s[T], in + T, 4, 8);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = s[T];
     }>, "copy_of_bad_zeros"},
    {"cp.async with zeros behind the edge", KERNEL(1, 16) {
       __shared__ float s[16];
       __pipeline_memcpy_async(&s[T], in + T, 4, T < 10 ? 0 : 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = s[T];
     }>, ""},
    {"cp.async from shared memory", KERNEL(1, 16) {
       __shared__ float from[16], to[16];
       from[T] = in[T];
       __pipeline_memcpy_async(&to[T], &from[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = to[T];
     }>, "copy_from_shared"},
    {"cp.async to global memory", KERNEL(1, 16) {
       __pipeline_memcpy_async(&out[T], &in[T], 4);
       __pipeline_commit();
       __pipeline_wait_prior(0);
     }>, "copy_to_global"},
    {"cp.async of 16 bytes at a multiple of 4", KERNEL(1, 16) {
       __shared__ float s[80];
       __pipeline_memcpy_async(&s[4 * T + 1], &in[4 * T], 16);
       __pipeline_commit();
       __pipeline_wait_prior(0);
       out[T] = 1;
     }>, "misaligned"},
    // Where an array ends.
    {"a pointer that runs from one array into the next", KERNEL(1, 64) {
       __shared__ float first[32], second[32], third[32];
       if (T < 32) first[T] = second[T] = third[T] = in[T];
       __syncthreads();
       const float* p = second;
       float sum = 0;
       for (int i = 0; i <= 32; ++i) sum += p[i];
       out[T] = sum + first[0] + third[0];
     }>, "out_of_bounds"},
    {"a pointer that goes through one array after the other", KERNEL(1, 64) {
       __shared__ float first[32], second[32];
       if (T < 32) first[T] = second[T] = in[T];
       __syncthreads();
       const float* p = first;
       float sum = 0;
       for (int i = 0; i < 64; ++i, ++p) {
         if (i == 32) p = second;
         sum += *p;
       }
       out[T] = sum;
     }>, ""},
};
