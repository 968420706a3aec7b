// Cooperative groups of a block and of tiles of a warp, where there is no toolkit.
#pragma once

#include "cuda/cpu.h"

namespace cooperative_groups {

class thread_block {
 public:
  static void sync() { __syncthreads(); }
  static unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }
  static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static dim3 dim_threads() { return {blockDim.x, blockDim.y, blockDim.z}; }
  static dim3 group_dim() { return dim_threads(); }
};

inline thread_block this_thread_block() {
  return {};
}

// `Size` lanes of one warp, a power of two up to 32.
template <unsigned Size>
class thread_block_tile {
  static_assert(
      Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
      "a tile of a warp has 1, 2, 4, 8, 16 or 32 lanes");

 public:
  static void sync() { __syncwarp(mask()); }
  static unsigned thread_rank() { return simt::lane() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  static unsigned meta_group_size() { return (thread_block::num_threads() + Size - 1) / Size; }
  template <class T>
  static T shfl(T value, int source) {
    return __shfl_sync(mask(), value, source, Size);
  }
  template <class T>
  static T shfl_up(T value, unsigned delta) {
    return __shfl_up_sync(mask(), value, delta, Size);
  }
  template <class T>
  static T shfl_down(T value, unsigned delta) {
    return __shfl_down_sync(mask(), value, delta, Size);
  }
  template <class T>
  static T shfl_xor(T value, unsigned lane_mask) {
    return __shfl_xor_sync(mask(), value, lane_mask, Size);
  }
  static int any(int predicate) { return __any_sync(mask(), predicate); }
  static int all(int predicate) { return __all_sync(mask(), predicate); }
  static unsigned ballot(int predicate) { return __ballot_sync(mask(), predicate) >> first(); }

 private:
  static unsigned first() { return simt::lane() / Size * Size; }
  static unsigned mask() { return (Size == 32 ? ~0u : (1u << Size % 32) - 1) << first(); }
};

template <unsigned Size>
thread_block_tile<Size> tiled_partition(const thread_block&) {
  return {};
}

template <class Group>
void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
