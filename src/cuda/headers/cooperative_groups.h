// Cooperative groups of a block and of tiles of a warp, for builds without the toolkit.
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

// A tile of a block, or of a larger tile.
template <unsigned Size, class Group>
thread_block_tile<Size> tiled_partition(const Group&) {
  return {};
}

// The lanes of a warp that were at one place together.
class coalesced_group {
 public:
  explicit coalesced_group(unsigned mask) : mask_(mask) {}
  void sync() const { __syncwarp(mask_); }
  unsigned thread_rank() const { return __popc(mask_ & ((1u << simt::lane()) - 1)); }
  unsigned num_threads() const { return __popc(mask_); }
  unsigned size() const { return num_threads(); }
  unsigned meta_group_rank() const { return 0; }
  unsigned meta_group_size() const { return 1; }
  template <class T>
  T shfl(T value, unsigned source) const {
    return __shfl_sync(mask_, value, lane_of(source % size()));
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(mask_, value, lane_of(rank < delta ? rank : rank - delta));
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(mask_, value, lane_of(rank + delta < size() ? rank + delta : rank));
  }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  // A mask of ranks, not of lanes.
  unsigned ballot(int predicate) const {
    const unsigned lanes = __ballot_sync(mask_, predicate);
    unsigned ranks = 0;
    for (unsigned rank = 0; rank < size(); ++rank) {
      ranks |= (lanes >> lane_of(rank) & 1u) << rank;
    }
    return ranks;
  }

 private:
  int lane_of(unsigned rank) const {
    unsigned lanes = mask_;
    for (; rank > 0; --rank) lanes &= lanes - 1;
    return __ffs(static_cast<int>(lanes)) - 1;
  }
  unsigned mask_;
};

__forceinline__ coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

// All blocks of the launch. Here, every launch is a cooperative one.
class grid_group {
 public:
  static void sync() { simt::grid_barrier(); }
  static bool is_valid() { return true; }
  static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long block_rank() {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  static unsigned long long size() { return num_threads(); }
  static unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static dim3 group_dim() { return {gridDim.x, gridDim.y, gridDim.z}; }
};

inline grid_group this_grid() {
  return {};
}

template <class Group>
void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
