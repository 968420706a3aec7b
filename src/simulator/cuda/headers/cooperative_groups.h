// Cooperative groups of a grid, a block, and lanes of a warp.
#pragma once

#include <cstring>

#include "simulator/cuda/cpu.h"
#include "simulator/cuda/hopper_instructions.h"

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

// The memory by which warps of a larger tile exchange values. From compute capability 8.0 on, a
// block has some of its own, so a program need not provide any.
template <unsigned MostThreads = 1024>
struct block_tile_memory {};
template <unsigned MostThreads>
thread_block this_thread_block(block_tile_memory<MostThreads>&) {
  return {};
}

}  // namespace cooperative_groups

namespace simt {

// The lane that has this rank among those of the mask; and the ranks of some of them.
int lane_of_rank(unsigned mask, unsigned rank);
unsigned ranks_of_lanes(unsigned mask, unsigned lanes);

// The value of another lane of the mask. A class moves word by word.
template <class T>
SIMT_INLINE T value_of_lane(unsigned mask, const T& value, int lane) {
  if constexpr (requires { __shfl_sync(mask, value, lane); }) {
    return __shfl_sync(mask, value, lane);
  } else {
    constexpr std::size_t kWords = (sizeof(T) + 3) / 4;
    unsigned words[kWords] = {};
    std::memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = __shfl_sync(mask, word, lane);
    T result;
    std::memcpy(static_cast<void*>(&result), words, sizeof(T));
    return result;
  }
}

// Lanes of a warp as a group. A lane's rank is its place among them.
class Lanes {
 public:
  explicit Lanes(unsigned mask) : mask_(mask) {}
  SIMT_ALWAYS_INLINE unsigned mask() const { return mask_; }
  void sync() const { __syncwarp(mask_); }
  SIMT_ALWAYS_INLINE unsigned thread_rank() const {
    return __popc(mask_ & ((1u << simt::lane()) - 1));
  }
  SIMT_ALWAYS_INLINE unsigned num_threads() const { return __popc(mask_); }
  SIMT_ALWAYS_INLINE unsigned size() const { return num_threads(); }

  template <class T>
  SIMT_ALWAYS_INLINE T shfl(T value, unsigned source) const {
    return value_of_lane(mask_, value, lane_of(source % size()));
  }
  template <class T>
  SIMT_ALWAYS_INLINE T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return value_of_lane(mask_, value, lane_of(rank < delta ? rank : rank - delta));
  }
  template <class T>
  SIMT_ALWAYS_INLINE T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return value_of_lane(mask_, value, lane_of(rank + delta < size() ? rank + delta : rank));
  }
  template <class T>
  SIMT_ALWAYS_INLINE T shfl_xor(T value, unsigned rank_mask) const {
    const unsigned rank = thread_rank(), other = rank ^ rank_mask;
    return value_of_lane(mask_, value, lane_of(other < size() ? other : rank));
  }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  // Masks of ranks, not of lanes.
  unsigned ballot(int predicate) const { return ranks_of(__ballot_sync(mask_, predicate)); }
  template <class T>
  unsigned match_any(T value) const {
    return ranks_of(__match_any_sync(mask_, value));
  }
  template <class T>
  unsigned match_all(T value, int& predicate) const {
    return ranks_of(__match_all_sync(mask_, value, &predicate));
  }

 private:
  SIMT_ALWAYS_INLINE int lane_of(unsigned rank) const { return lane_of_rank(mask_, rank); }
  unsigned ranks_of(unsigned lanes) const { return ranks_of_lanes(mask_, lanes); }
  unsigned mask_;
};

// The running lane's tile of that many neighbouring lanes.
inline Lanes tile_of(unsigned size) {
  const unsigned first = simt::lane() / size * size;
  return Lanes((size >= 32 ? ~0u : (1u << size) - 1) << first);
}

}  // namespace simt

namespace cooperative_groups {

// `Size` lanes of one warp, a power of two up to 32. `Parent` is what was divided into tiles.
template <unsigned Size, class Parent = thread_block>
class thread_block_tile : public simt::Lanes {
  static_assert(
      Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
      "a tile has 1, 2, 4, 8, 16 or 32 lanes; larger ones are not traced");

 public:
  thread_block_tile() : Lanes(simt::tile_of(Size)) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>& tile) : Lanes(tile) {}
  static unsigned thread_rank() { return simt::lane() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return Parent().thread_rank() / Size; }
  static unsigned meta_group_size() { return (Parent().num_threads() + Size - 1) / Size; }
};

// Several warps, 64 to 512 threads.
template <unsigned Size, class Parent>
requires(Size > 32) class thread_block_tile<Size, Parent> {
  static_assert(Size <= 512 && (Size & (Size - 1)) == 0, "a tile has 64, 128, 256 or 512 threads");

 public:
  // Barrier 0 is that of the block.
  static void sync() { ::bar_sync(static_cast<int>(meta_group_rank()) + 1, Size); }
  static unsigned thread_rank() { return Parent().thread_rank() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return Parent().thread_rank() / Size; }
  static unsigned meta_group_size() { return (Parent().num_threads() + Size - 1) / Size; }
  // One value of each warp of the tile.
  template <class T>
  static T* slots() {
    static_assert(sizeof(T) <= kSlotBytes, "values of up to 16 bytes are exchanged");
    __shared__ char memory[32 * kSlotBytes];
    return reinterpret_cast<T*>(memory) + meta_group_rank() * (Size / 32);
  }

 private:
  static constexpr unsigned kSlotBytes = 16;
};

template <unsigned Size, class Group>
thread_block_tile<Size, Group> tiled_partition(const Group&) {
  return {};
}

// Lanes of a warp that were at one place together, or have the same label.
class coalesced_group : public simt::Lanes {
 public:
  explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned groups = 1)
      : Lanes(mask), meta_rank_(rank), meta_size_(groups) {}
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

 private:
  unsigned meta_rank_, meta_size_;
};

__forceinline__ coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}
// The lanes of the group with the same label.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label) {
  const unsigned mask = __match_any_sync(group.mask(), label);
  // Groups are numbered in the order of their first lanes.
  const unsigned first = __ffs(static_cast<int>(mask)) - 1;
  const unsigned leaders = __ballot_sync(group.mask(), first == unsigned(simt::lane()));
  return coalesced_group(mask, __popc(leaders & ((1u << first) - 1)), __popc(leaders));
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate) {
  return labeled_partition(group, predicate);
}

// A group whose kind and size are known only when the kernel runs.
class thread_group {
 public:
  thread_group(thread_block) : lanes_(0) {}
  thread_group(const simt::Lanes& lanes) : lanes_(lanes) {}
  void sync() const { is_block() ? thread_block::sync() : lanes_.sync(); }
  unsigned thread_rank() const {
    return is_block() ? thread_block::thread_rank() : lanes_.thread_rank();
  }
  unsigned num_threads() const { return is_block() ? thread_block::size() : lanes_.size(); }
  unsigned size() const { return num_threads(); }
  unsigned mask() const { return lanes_.mask(); }

 private:
  bool is_block() const { return mask() == 0; }
  simt::Lanes lanes_;
};

// Tiles of a block, or of a group of lanes, by rank; `size` is a power of two up to 32.
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size) {
  return labeled_partition(group, group.thread_rank() / size);
}
template <class Group>
thread_group tiled_partition(const Group& group, unsigned size) {
  if constexpr (requires { group.mask(); }) {
    if (group.mask() != 0) return labeled_partition(group, group.thread_rank() / size);
  }
  return simt::tile_of(size);
}

// All blocks of the launch. Here, every launch is a cooperative one.
class grid_group {
 public:
  static __forceinline__ void sync() { simt::grid_barrier(); }
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
  static dim3 dim_blocks() { return group_dim(); }
  static dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
};

inline grid_group this_grid() {
  return {};
}

// A block is a cluster of its own. In a kernel with larger ones, each of these functions is a
// fault.
class cluster_group {
 public:
  struct arrival_token {};
  static void sync() { simt::use_cluster(), __syncthreads(); }
  static arrival_token barrier_arrive() { return simt::use_cluster(), arrival_token(); }
  static void barrier_wait() { sync(); }
  static void barrier_wait(arrival_token&&) { sync(); }
  static unsigned num_blocks() { return simt::use_cluster(), 1; }
  static unsigned block_rank() { return simt::use_cluster(), 0; }
  static dim3 dim_blocks() { return simt::use_cluster(), dim3(1, 1, 1); }
  static dim3 block_index() { return simt::use_cluster(), dim3(0, 0, 0); }
  static unsigned num_threads() { return simt::use_cluster(), thread_block::num_threads(); }
  static unsigned size() { return num_threads(); }
  static unsigned thread_rank() { return simt::use_cluster(), thread_block::thread_rank(); }
  static dim3 dim_threads() { return thread_block::dim_threads(); }
  static dim3 thread_index() { return thread_block::thread_index(); }
  template <class T>
  static T* map_shared_rank(T* shared, int) {
    return simt::use_cluster(), shared;
  }
  static unsigned query_shared_rank(const void*) { return block_rank(); }
};

inline cluster_group this_cluster() {
  return {};
}

template <class Group>
void sync(const Group& group) {
  group.sync();
}
template <class Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
  return group.size();
}
// A GPU may choose any thread of the group.
template <class Group, class Function, class... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) function(std::forward<Arguments>(arguments)...);
}
template <class Group, class Function, class... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments) {
  decltype(function(std::forward<Arguments>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = function(std::forward<Arguments>(arguments)...);
  return group.shfl(result, 0);
}

}  // namespace cooperative_groups
