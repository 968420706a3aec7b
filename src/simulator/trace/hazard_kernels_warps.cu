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

}  // namespace

// clang-format off
extern const std::vector<trace::HazardKernel> trace::hazards_of_warps = {
    // Lanes of a warp, tiles, masks.
    {"lanes that rely on running in lockstep", KERNEL(1, 32) {
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
       const auto half_warp = cg::tiled_partition<16>(cg::this_thread_block());
       const auto tile = cg::tiled_partition<4>(half_warp);
       s[T] = in[T];
       half_warp.sync();
       const float other = s[T ^ 15];
       tile.sync();
       s[T] = other;
       tile.sync();
       out[T] = s[T ^ 3];
     }>, "race"},
    {"tiles in lockstep, the smaller after the larger", KERNEL(1, 64) {
       __shared__ float s[64];
       const auto half_warp = cg::tiled_partition<16>(cg::this_thread_block());
       const auto tile = cg::tiled_partition<4>(half_warp);
       s[T] = in[T];
       half_warp.sync();
       const float other = s[T ^ 15];
       half_warp.sync();
       s[T] = other;
       tile.sync();
       out[T] = s[T ^ 3];
     }>, ""},
    {"each half of a warp after a __syncwarp of its own", KERNEL(1, 32) {
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
    {"a shuffle from a lane outside the mask", KERNEL(1, 32) {
       float value = in[T];
       if (T < 20) value += __shfl_down_sync(0x000fffffu, value, 16);
       out[T] = value;
     }>, "nothing_shuffled undefined_used"},
    {"a shuffle in a warp after half of it has left", KERNEL(1, 32) {
       if (T >= 16) return;
       out[T] = __shfl_down_sync(kAll, in[T], 8);
     }>, "nothing_shuffled undefined_used"},
    {"a shuffle in a block of 48 threads", KERNEL(1, 48) {
       out[T] = sum_of_warp(in[T]);
     }>, "nothing_shuffled undefined_used"},
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
    {"producers and consumers, with barriers in both branches", KERNEL(1, 64) {
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
    {"threads beyond the edge leave before the barrier", KERNEL(1, 64) {
       __shared__ float s[64];
       if (T >= 50) return;
       s[T] = in[T];
       __syncthreads();
       out[T] = s[49 - T];
     }>, "threads_left"},
    {"a barrier in a branch that half of a warp takes", KERNEL(1, 64) {
       if (T < 16) {
         __syncthreads();
       } else {
         __syncthreads();
       }
       out[T] = 1;
     }>, "barrier_divergence"},
    {"one warp reaches one barrier more", KERNEL(1, 64) {
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
    // ldmatrix: the lane that gives a row's address reads the row.
    {"ldmatrix of rows that other lanes stored", KERNEL(1, 32) {
       __shared__ __align__(16) float s[128];
       for (int i = 0; i < 4; ++i) s[4 * T + i] = in[4 * T + i];
       unsigned d[4];
       ldmatrix_x4(d, &s[4 * (T ^ 1)]);
       out[T] = __uint_as_float(d[0]);
     }>, "race"},
    {"ldmatrix of rows that other lanes stored before __syncwarp", KERNEL(1, 32) {
       __shared__ __align__(16) float s[128];
       for (int i = 0; i < 4; ++i) s[4 * T + i] = in[4 * T + i];
       __syncwarp();
       unsigned d[4];
       ldmatrix_x4(d, &s[4 * (T ^ 1)]);
       out[T] = __uint_as_float(d[0]);
     }>, ""},
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
    {"ldmatrix of rows that nobody stored", KERNEL(1, 32) {
       __shared__ __align__(16) float s[128];
       if (T < 31) s[4 * T] = s[4 * T + 1] = s[4 * T + 2] = s[4 * T + 3] = in[T];
       unsigned d[4];
       ldmatrix_x4(d, &s[4 * T]);
       out[T] = __uint_as_float(d[0]);
     }>, "uninitialized"},
    {"ldmatrix of a cp.async that is not waited for", KERNEL(1, 32) {
       __shared__ __align__(16) float s[128];
       __pipeline_memcpy_async(&s[4 * T], &in[4 * T], 16);
       __pipeline_commit();
       unsigned d[4];
       ldmatrix_x4(d, &s[4 * T]);
       out[T] = __uint_as_float(d[0]);
     }>, "copy_not_waited_for"},
    {"ldmatrix of rows that are not aligned to 16 bytes", KERNEL(1, 32) {
       __shared__ __align__(16) float s[132];
       for (int i = T; i < 132; i += 32) s[i] = in[i];
       __syncwarp();
       unsigned d[4];
       ldmatrix_x4(d, &s[4 * T + 1]);
       out[T] = __uint_as_float(d[0]);
     }>, "misaligned"},
    {"ldmatrix beyond the array", KERNEL(1, 32) {
       __shared__ __align__(16) float s[124];
       for (int i = T; i < 124; i += 32) s[i] = in[i];
       __syncwarp();
       unsigned d[4];
       ldmatrix_x4(d, s + 4 * T);
       out[T] = __uint_as_float(d[0]);
     }>, "out_of_bounds"},
    // Values that no lane gives.
    {"a value from a lane outside of the mask is added, a float", KERNEL(1, 32) {
       out[T] = of_a_masked_shuffle(in[T], true);
     }>, "nothing_shuffled undefined_used"},
    {"the same with an int", KERNEL(1, 32) {
       reinterpret_cast<int*>(partial)[T] = of_a_masked_shuffle(static_cast<int>(T), true);
     }>, "nothing_shuffled undefined_used"},
    {"the same with a double", KERNEL(1, 32) {
       reinterpret_cast<double*>(partial)[T] = of_a_masked_shuffle(1.0 * T, true);
     }>, "nothing_shuffled undefined_used"},
    {"the same with 64 bits", KERNEL(1, 32) {
       reinterpret_cast<unsigned long long*>(partial)[T] = of_a_masked_shuffle(3ull * T, true);
     }>, "nothing_shuffled undefined_used"},
    {"the same with two halves", KERNEL(1, 32) {
       reinterpret_cast<half2*>(partial)[T] = of_a_masked_shuffle(__float2half2_rn(in[T]), true);
     }>, "nothing_shuffled undefined_used"},
    {"a value from a lane outside of the mask is not used, a float", KERNEL(1, 32) {
       out[T] = of_a_masked_shuffle(in[T], false);
     }>, "nothing_shuffled"},
    {"the same with an int", KERNEL(1, 32) {
       reinterpret_cast<int*>(partial)[T] = of_a_masked_shuffle(static_cast<int>(T), false);
     }>, "nothing_shuffled"},
    {"the same with a double", KERNEL(1, 32) {
       reinterpret_cast<double*>(partial)[T] = of_a_masked_shuffle(1.0 * T, false);
     }>, "nothing_shuffled"},
    {"the same with 64 bits", KERNEL(1, 32) {
       reinterpret_cast<unsigned long long*>(partial)[T] = of_a_masked_shuffle(3ull * T, false);
     }>, "nothing_shuffled"},
    {"the same with two halves", KERNEL(1, 32) {
       reinterpret_cast<half2*>(partial)[T] = of_a_masked_shuffle(__float2half2_rn(in[T]), false);
     }>, "nothing_shuffled"},
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
     }>, "nothing_shuffled undefined_used"},
    {"an undefined value in an atomic", KERNEL(1, 32) {
       if (T < 16) atomicAdd(flags, __shfl_up_sync(0xfffeu | 1u, T, 1) + __shfl_sync(0xffffu, T, 20));
     }>, "nothing_shuffled undefined_used"},
};
