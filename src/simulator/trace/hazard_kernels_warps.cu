#include <cuda_fp16.h>

#include "simulator/cuda/instructions.h"
#include "simulator/trace/hazard_kernel_run.h"

namespace {

// The last six steps of Mark Harris's reduction, which were correct before Volta.
__device__ void volatile_steps(volatile float* s, unsigned t) {
  for (unsigned d = 16; d > 0; d /= 2) s[t] = s[t] + s[t + d];
}

// 20 lanes of a warp shuffle, of which 16 ask lanes that do not take part.
template <class Value>
__device__ Value of_a_masked_shuffle(Value value, bool uses_all) {
  if (T >= 20) return value;
  const Value other = __shfl_down_sync(0x000fffffu, value, 16);
  return uses_all || T < 4 ? value + other : value;
}

// In two tiles, the smaller after the larger, which are synchronized after the load.
#define TILES(after_load)                                                               \
  EXCHANGE(64, const auto half_warp = cg::tiled_partition<16>(cg::this_thread_block()); \
           const auto tile = cg::tiled_partition<4>(half_warp); half_warp.sync();       \
           const float other = s[T ^ 15]; after_load.sync(); s[T] = other; tile.sync(), s[T ^ 3])

// A lane stores and sets a flag; another one waits for it.
#define FLAG_OF_A_LANE(setter, waiter) \
  KERNEL(1, 32) {                      \
    __shared__ float s;                \
    __shared__ volatile int ready;     \
    if (T == 0) ready = 0;             \
    __syncwarp();                      \
    if (setter) {                      \
      s = in[7];                       \
      __threadfence_block();           \
      ready = 1;                       \
    } else if (waiter) {               \
      while (ready == 0) {             \
      }                                \
      out[T] = s;                      \
    }                                  \
  }

// One warp stores and another loads, with what each of them does in between.
#define WARPS(Flag, stores, signal, waits) \
  KERNEL(1, 64) {                          \
    __shared__ float s[32];                \
    __shared__ Flag ready;                 \
    if (T == 0) ready = 0;                 \
    __syncthreads();                       \
    if (stores) {                          \
      s[T % 32] = in[T];                   \
      signal;                              \
    } else {                               \
      waits;                               \
      out[T] = s[T % 32];                  \
    }                                      \
  }

// One warp fills buffers and another adds them up.
#define FILLED_BY_A_WARP(buffers)           \
  KERNEL(1, 64) {                           \
    __shared__ float s[2][32];              \
    float sum = 0;                          \
    if (T < 32) {                           \
      for (int k = 0; k < 4; ++k) {         \
        s[k % buffers][T] = in[32 * k + T]; \
        __syncthreads();                    \
      }                                     \
    } else {                                \
      for (int k = 0; k < 4; ++k) {         \
        __syncthreads();                    \
        sum += s[k % buffers][T - 32];      \
      }                                     \
    }                                       \
    out[T] = sum;                           \
  }

// Rows of four floats each, which a lane has stored, and those that it asks for.
#define LDMATRIX(size, stores, from)        \
  KERNEL(1, 32) {                           \
    __shared__ __align__(16) float s[size]; \
    stores;                                 \
    unsigned d[4];                          \
    ldmatrix_x4(d, from);                   \
    out[T] = __uint_as_float(d[0]);         \
  }
#define STORES_ROW \
  for (int i = 0; i < 4; ++i) s[4 * T + i] = in[4 * T + i]

#define MASKED(Type, value, uses_all)                                           \
  KERNEL(1, 32) {                                                               \
    reinterpret_cast<Type*>(partial)[T] = of_a_masked_shuffle(value, uses_all); \
  }
#define FROM_NOBODY "nothing_shuffled undefined_used"

}  // namespace

// clang-format off
extern const std::vector<trace::HazardKernel> trace::hazards_of_warps = {
    // Lanes of a warp, tiles, masks.
    {"volatile steps of a warp, as before Volta", SHARED(32, float s[64],
       s[T] = in[T]; s[T + 32] = 0, __syncwarp(); volatile_steps(s, T), s[T])>, "race"},
    {"__syncwarp of the lower half orders the lower half",
     EXCHANGE(32, if (T >= 16) return; __syncwarp(0x0000ffffu), s[15 - T])>, ""},
    {"__syncwarp of the lower half does not order the upper",
     EXCHANGE(32, if (T >= 16) return; __syncwarp(0x0000ffffu), s[16 + T])>, "race"},
    {"a tile of 8 reads its own part",
     EXCHANGE(64, cg::tiled_partition<8>(cg::this_thread_block()).sync(), s[T ^ 7])>, ""},
    {"a tile of 8 reads its neighbour's part",
     EXCHANGE(64, cg::tiled_partition<8>(cg::this_thread_block()).sync(), s[T ^ 8])>, "race"},
    {"a tile of 4 in a tile of 16", TILES(tile)>, "race"},
    {"tiles in lockstep, the smaller after the larger", TILES(half_warp)>, ""},
    {"each half of a warp after a __syncwarp of its own", EXCHANGE(32,
       if (T < 16) __syncwarp(0x0000ffffu); else __syncwarp(0xffff0000u), s[T ^ 15])>, ""},
    {"the two halves of a warp meet at different __syncwarps", KERNEL(1, 32) {
       __shared__ float s[32];
       if (T < 16) {
         __syncwarp();
         out[T] = s[T + 16];
       } else {
         s[T] = in[T];
         __syncwarp();
       }
     }>, ""},
    {"a lane waits for a volatile flag of another lane", FLAG_OF_A_LANE(T == 0, true)>, ""},
    {"lane 1 waits for a volatile flag of lane 30", FLAG_OF_A_LANE(T == 30, T == 1)>, ""},
    {"a shuffle orders nothing in memory",
     EXCHANGE(32, const float other = __shfl_xor_sync(kAll, in[T], 1), s[31 - T] + other)>, "race"},
    {"a vote orders nothing in memory",
     EXCHANGE(32, if (!__any_sync(kAll, in[T] > 0)) return, s[31 - T])>, "race"},
    {"a shuffle in a warp after half of it has left", KERNEL(1, 32) {
       if (T >= 16) return;
       out[T] = __shfl_down_sync(kAll, in[T], 8);
     }>, FROM_NOBODY},
    {"a shuffle in a block of 48 threads", KERNEL(1, 48) {
       out[T] = sum_of_warp(in[T]);
     }>, FROM_NOBODY},
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
    {"an atomic add by a coalesced group", KERNEL(1, 32) {
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
    // Warps with different tasks.
    {"producers and consumers, with barriers in both branches", FILLED_BY_A_WARP(2)>,
     "several_barriers"},
    {"producers that are one buffer too early", FILLED_BY_A_WARP(1)>, "race several_barriers"},
    {"a consumer that waits for a volatile flag", WARPS(volatile int, T >= 32,
       __threadfence_block(); __syncwarp(); if (T == 32) ready = 1,
       if (T == 0) { while (ready == 0) {} } __syncwarp())>, ""},
    {"a consumer that does not wait for the flag", WARPS(int, T >= 32,
       __threadfence_block(); __syncwarp(); if (T == 32) atomicAdd(&ready, 1), )>, "race"},
    {"a flag without a fence", WARPS(volatile int, T < 32,
       __syncwarp(); if (T == 0) ready = 1, while (ready == 0) {})>, "race"},
    // Barriers.
    {"threads beyond the edge leave before the barrier", SHARED(64, float s[64],
       if (T >= 50) return; s[T] = in[T], __syncthreads(), s[49 - T])>, "threads_left"},
    {"a barrier in a branch that half of a warp takes", KERNEL(1, 64) {
       if (T < 16) {
         __syncthreads();
       } else {
         __syncthreads();
       }
       out[T] = 1;
     }>, "barrier_divergence"},
    {"one warp reaches one barrier more", SHARED(64, float s[64],
       if (T < 32) __syncthreads(); s[T] = in[T], __syncthreads(), s[63 - T])>,
     "barrier_divergence race several_barriers"},
    {"warps leave a loop with a barrier one after the other", KERNEL(1, 128) {
       for (unsigned i = 0; i <= T / 32; ++i) __syncthreads();
       out[T] = 1;
     }>, "threads_left"},
    // ldmatrix: the lane that gives a row's address reads the row.
    {"ldmatrix of rows that other lanes stored", LDMATRIX(128, STORES_ROW, &s[4 * (T ^ 1)])>,
     "race"},
    {"ldmatrix of rows that other lanes stored before __syncwarp",
     LDMATRIX(128, STORES_ROW; __syncwarp(), &s[4 * (T ^ 1)])>, ""},
    {"ldmatrix of rows that another warp stores afterwards", KERNEL(1, 64) {
       __shared__ __align__(16) float s[128];
       if (T < 32) {
         for (int i = 0; i < 4; ++i) s[4 * T + i] = in[4 * T + i];
       }
       __syncthreads();
       unsigned d[4];
       ldmatrix_x4(d, &s[4 * (T % 32)]);
       if (T >= 32) s[4 * (T % 32) + 3] = 0;
       out[T] = __uint_as_float(d[0]);
     }>, "race"},
    {"ldmatrix of rows that nobody stored",
     LDMATRIX(128, if (T < 31) STORES_ROW, &s[4 * T])>, "uninitialized"},
    {"ldmatrix of a cp.async that is not waited for", LDMATRIX(128,
       __pipeline_memcpy_async(&s[4 * T], &in[4 * T], 16); __pipeline_commit(), &s[4 * T])>,
     "copy_not_waited_for"},
    {"ldmatrix of rows that are not aligned to 16 bytes", LDMATRIX(132,
       for (int i = T; i < 132; i += 32) s[i] = in[i]; __syncwarp(), &s[4 * T + 1])>, "misaligned"},
    {"ldmatrix beyond the array", LDMATRIX(124,
       for (int i = T; i < 124; i += 32) s[i] = in[i]; __syncwarp(), s + 4 * T)>, "out_of_bounds"},
    // Values that no lane gives.
    {"a float from a lane outside of the mask is added", MASKED(float, in[T], true)>, FROM_NOBODY},
    {"an int", MASKED(int, static_cast<int>(T), true)>, FROM_NOBODY},
    {"a double", MASKED(double, 1.0 * T, true)>, FROM_NOBODY},
    {"64 bits", MASKED(unsigned long long, 3ull * T, true)>, FROM_NOBODY},
    {"two halves", MASKED(half2, __float2half2_rn(in[T]), true)>, FROM_NOBODY},
    {"a float from a lane outside of the mask is not used", MASKED(float, in[T], false)>,
     "nothing_shuffled"},
    {"an int", MASKED(int, static_cast<int>(T), false)>, "nothing_shuffled"},
    {"a double", MASKED(double, 1.0 * T, false)>, "nothing_shuffled"},
    {"64 bits", MASKED(unsigned long long, 3ull * T, false)>, "nothing_shuffled"},
    {"two halves", MASKED(half2, __float2half2_rn(in[T]), false)>, "nothing_shuffled"},
    {"a sum of half a warp, of which only lane 0 stores its own", KERNEL(1, 32) {
       if (T >= 16) return;
       int sum = static_cast<int>(T);
       for (int d = 8; d != 0; d /= 2) sum += __shfl_down_sync(0xffffu, sum, d);
       if (T == 0) out[0] = sum;
     }>, "nothing_shuffled"},
    {"an undefined value in a vector", KERNEL(1, 32) {
       if (T >= 16) return;
       const float other = __shfl_xor_sync(0xffffu, in[T], 16);
       reinterpret_cast<float4*>(partial)[T] = make_float4(in[T], 0, other, 0);
     }>, FROM_NOBODY},
    {"an undefined value in an atomic", KERNEL(1, 32) {
       if (T < 16) atomicAdd(flags, __shfl_up_sync(0xfffeu | 1u, T, 1) + __shfl_sync(0xffffu, T, 20));
     }>, FROM_NOBODY},
};
