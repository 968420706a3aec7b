// C^T = B^T A^T by the copy engine and wgmma, with a producer warp, two consumer warpgroups and a
// store by the copy engine; and the same with one mistake.
#pragma once

#include <cstdint>

#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/launch.h"
#include "simulator/trace/device_array.h"

namespace {

// A mistake, and what must be found in the kernel with it.
// clang-format off
#define MISTAKES(X) \
  X(none, "") \
  /* The barriers' initialization. */ \
  X(no_block_barrier, "race") \
  X(no_barrier_fence, "not_fenced") \
  X(two_arrivals_expected, \
    "1 of 2 arrivals is missing, and 16384 bytes of copies are missing in phase 0") \
  X(initialized_twice, "initializes an mbarrier that is initialized already") \
  /* The producer. */ \
  X(no_wait_for_empty, "tile_not_waited_for") \
  X(wrong_parity_of_empty, \
    "with parity 0 for full (byte 0) forever: 1 of 1 arrivals is missing in phase 0, and no " \
    "other thread of the block can continue. Thread (256, 0, 0) waits with parity 0 for empty " \
    "(byte 0): 2 of 2 arrivals are missing in phase 0") \
  X(nothing_announced, "tile_not_waited_for") \
  X(too_few_bytes, "64 bytes were copied that no thread announced") \
  X(too_many_bytes, "forever: 64 bytes of copies are missing") \
  X(announced_twice, "have come; wait for the phase first") \
  X(wrong_stage, "tile_in_use tile_not_waited_for") \
  X(other_barrier, "tile_not_waited_for") \
  /* The consumers. */ \
  X(no_wait_for_full, "tile_in_use tile_not_waited_for") \
  X(wrong_parity_of_full, "tile_in_use tile_not_waited_for") \
  X(waits_for_next_stage, "tile_not_waited_for") \
  X(no_wgmma_fence, "without a wgmma_fence()") \
  X(no_commit, "changes the registers of d while a wgmma uses them") \
  X(no_wgmma_wait, "changes the registers of d while a wgmma uses them") \
  X(waits_for_all_but_one, "changes the registers of a while a wgmma uses them") \
  X(frees_before_wait, "tile_in_use") \
  X(frees_nothing, "arrivals is missing in phase 1") \
  X(frees_twice, "forever") \
  X(same_k_again, "wrong result") \
  X(no_swizzle, "wrong result") \
  X(wrong_stride, "wrong result") \
  X(changes_a, "changes the registers of a while a wgmma uses them") \
  X(reads_d_early, "sum_in_flight") \
  X(changes_d, "changes the registers of d while a wgmma uses them") \
  X(half_a_warpgroup, "does not give the tensor cores the same wgmma instructions") \
  /* The epilogue. */ \
  X(no_proxy_fence, "not_fenced") \
  X(proxy_fence_after_barrier, "not_fenced") \
  X(no_barrier_before_store, "race tile_in_use") \
  X(no_barrier_after_store, "tile_in_use") \
  X(no_wait_for_reads, "store_not_waited_for tile_in_use") \
  X(no_wait_for_last_reads, "store_not_waited_for") \
  X(no_store_group, "store_not_waited_for tile_in_use") \
  X(registers_by_half, "waits at setmaxnreg for the other threads of its warpgroup") \
  X(other_barrier_id, "race tile_in_use")
// clang-format on
#define NAMED(mistake, finds) mistake,
enum class Mistake { MISTAKES(NAMED) };
#undef NAMED

constexpr int kStages = 3, kTileRows = 128, kTileBytes = kTileRows * 128, kWarpgroups = 2;
constexpr int kPipelineBytes = (kStages + kWarpgroups) * kTileBytes;

// Tile by tile of K, which is a multiple of 32: 128 rows of A and, for each warpgroup, 64 columns
// of B. A is 128 x K, B is K x 128, C is 128 x 128. `rounds` times the same.
template <Mistake kMistake>
__global__ void __launch_bounds__(384, 1) multiply_pipelined(
    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_c,
    const float* b, int K, int rounds) {
  extern __shared__ __align__(1024) char buffer[];
  __shared__ std::uint64_t full[kStages], empty[kStages];
  constexpr auto has = [](Mistake mistake) { return mistake == kMistake; };
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(&full[s], has(Mistake::two_arrivals_expected) ? 2 : 1);
      mbarrier_init(&empty[s], kWarpgroups);
      if (has(Mistake::initialized_twice)) mbarrier_init(&empty[s], kWarpgroups);
    }
    if (!has(Mistake::no_barrier_fence)) fence_mbarrier_init();
  }
  if (!has(Mistake::no_block_barrier)) __syncthreads();
  const int warpgroup = threadIdx.x / 128, tiles = K / 32;
  if (warpgroup == kWarpgroups) {
    setmaxnreg_dec<24>();
    if (threadIdx.x == kWarpgroups * 128) {
      for (int t = 0; t < tiles * rounds; ++t) {
        const int s = t % kStages, parity = t / kStages % 2;
        if (!has(Mistake::no_wait_for_empty)) {
          mbarrier_wait(&empty[s], has(Mistake::wrong_parity_of_empty) ? parity : parity ^ 1);
        }
        const int more = has(Mistake::too_few_bytes) ? -64 : has(Mistake::too_many_bytes) ? 64 : 0;
        if (has(Mistake::nothing_announced)) {
          mbarrier_arrive(&full[s]);
        } else {
          mbarrier_arrive_expect_tx(&full[s], kTileBytes + more);
        }
        if (has(Mistake::announced_twice)) mbarrier_arrive_expect_tx(&full[s], kTileBytes);
        const int to = has(Mistake::wrong_stage) ? (s + 1) % kStages : s;
        const int counted = has(Mistake::other_barrier) ? (s + 1) % kStages : s;
        cp_async_bulk_tensor_2d(
            buffer + to * kTileBytes, &map_a, t % tiles * 32, 0, &full[counted]);
      }
    }
    return;
  }
  if (!has(Mistake::registers_by_half) || threadIdx.x % 128 < 64) setmaxnreg_inc<240>();
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int column = warpgroup * 64 + warp * 16 + lane / 4;
  float d[kTileRows / 2];
  float early = 0;
  for (int t = 0; t < tiles * rounds; ++t) {
    const int s = t % kStages, parity = t / kStages % 2;
    if (t % tiles == 0) {
      for (int i = 0; i < kTileRows / 2; ++i) d[i] = 0;
    }
    unsigned fragments[4][4];
    for (int step = 0; step < 4; ++step) {
      for (int i = 0; i < 4; ++i) {
        const int k = t % tiles * 32 + step * 8 + lane % 4 + i / 2 * 4;
        fragments[step][i] = __float_as_uint(b[k * 128 + column + i % 2 * 8]);
      }
    }
    if (!has(Mistake::no_wait_for_full)) {
      const int waits_for = has(Mistake::waits_for_next_stage) ? (s + 1) % kStages : s;
      mbarrier_wait(&full[waits_for], has(Mistake::wrong_parity_of_full) ? parity ^ 1 : parity);
    }
    std::uint64_t tile = wgmma_descriptor_of_swizzled_tile(buffer + s * kTileBytes);
    if (has(Mistake::no_swizzle)) tile &= ~(std::uint64_t{3} << 62);
    if (has(Mistake::wrong_stride)) tile ^= std::uint64_t{96} << 32;
    wgmma_fence_operand(d);
    if (!has(Mistake::no_wgmma_fence)) wgmma_fence();
    if (has(Mistake::half_a_warpgroup) && thread >= 64) tile += 2;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      wgmma_m64nNk8_tf32(d, fragments[step], tile + (has(Mistake::same_k_again) ? 0 : step * 2));
    }
    if (!has(Mistake::no_commit)) wgmma_commit_group();
    if (has(Mistake::changes_a)) fragments[1][2] += 1;
    if (has(Mistake::changes_d)) d[5] = 1;
    if (has(Mistake::reads_d_early)) early = d[0];
    if (has(Mistake::frees_before_wait) && thread == 0) mbarrier_arrive(&empty[s]);
    if (has(Mistake::waits_for_all_but_one)) {
      wgmma_wait_group<1>();
    } else if (!has(Mistake::no_wgmma_wait)) {
      wgmma_wait_group<0>();
    }
    wgmma_fence_operand(d);
    const bool frees = !has(Mistake::frees_nothing) && !has(Mistake::frees_before_wait);
    if (frees && thread == 0) mbarrier_arrive(&empty[s]);
    if (has(Mistake::frees_twice) && thread == 32) mbarrier_arrive(&empty[s]);
  }
  if (has(Mistake::reads_d_early)) d[0] = early;
  // Through shared memory to C, 32 columns at a time: rows of C are columns of the product.
  float* part = reinterpret_cast<float*>(buffer + (kStages + warpgroup) * kTileBytes);
  const int id = has(Mistake::other_barrier_id) ? 1 : 1 + warpgroup;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < kTileRows / 2; ++i) {
      const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const int local = warp * 16 + lane / 4 + i / 2 % 2 * 8 - half * 32;
      if (local < 0 || local >= 32) continue;
      part[row * 32 + (local / 4 ^ row % 8) * 4 + local % 4] = d[i];
    }
    if (!has(Mistake::no_proxy_fence) && !has(Mistake::proxy_fence_after_barrier)) {
      fence_proxy_async();
    }
    if (!has(Mistake::no_barrier_before_store)) bar_sync(id, 128);
    if (has(Mistake::proxy_fence_after_barrier) && thread > 0) fence_proxy_async();
    if (thread == 0) {
      cp_async_bulk_tensor_2d_store(&map_c, warpgroup * 64 + half * 32, 0, part);
      if (!has(Mistake::no_store_group)) cp_async_bulk_commit_group();
      const bool last = half == 1 && has(Mistake::no_wait_for_last_reads);
      if (!has(Mistake::no_wait_for_reads) && !last) cp_async_bulk_wait_group_read<0>();
    }
    if (!has(Mistake::no_barrier_after_store)) bar_sync(id, 128);
  }
}

}  // namespace
