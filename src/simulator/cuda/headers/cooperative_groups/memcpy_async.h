// A group copies from global to shared memory by cp.async.
#pragma once

#include <cooperative_groups.h>

#include "simulator/cuda/scopes.h"

namespace simt {

// Without a known alignment, the largest that both addresses have in common; single bytes before
// and after the aligned part.
template <int alignment>
SIMT_INLINE void copy_aligned(
    char* to, const char* from, std::size_t bytes, std::size_t rank, std::size_t threads) {
  const auto odd = reinterpret_cast<std::uintptr_t>(from) % alignment;
  const std::size_t before = odd == 0 ? 0 : alignment - odd;
  const std::size_t middle = (bytes - before) / alignment * alignment;
  copy_pieces<1>(to, from, before, rank, threads);
  copy_together<alignment>(to + before, from + before, middle, rank, threads);
  const std::size_t done = before + middle;
  copy_pieces<1>(to + done, from + done, bytes - done, rank, threads);
}

template <int alignment, class Group>
SIMT_INLINE void copy_by_group(
    const Group& group, void* to_, const void* from_, std::size_t bytes) {
  const std::size_t rank = group.thread_rank(), threads = group.size();
  if constexpr (alignment >= 4) {
    copy_together<alignment>(to_, from_, bytes, rank, threads);
  } else {
    char* const to = static_cast<char*>(to_);
    const char* const from = static_cast<const char*>(from_);
    const auto apart =
        reinterpret_cast<std::uintptr_t>(from) ^ reinterpret_cast<std::uintptr_t>(to);
    if (apart % 16 == 0 && bytes >= 16) {
      copy_aligned<16>(to, from, bytes, rank, threads);
    } else if (apart % 8 == 0 && bytes >= 8) {
      copy_aligned<8>(to, from, bytes, rank, threads);
    } else if (apart % 4 == 0 && bytes >= 4) {
      copy_aligned<4>(to, from, bytes, rank, threads);
    } else {
      copy_pieces<alignment>(to, from, bytes, rank, threads);
    }
  }
  __pipeline_commit();
}

}  // namespace simt

namespace cooperative_groups {

template <class Group, class T, class Size>
SIMT_INLINE void memcpy_async(
    const Group& group, T* to, const std::type_identity_t<T>* from, const Size& bytes) {
  constexpr int kAlignment = std::is_same_v<Size, std::size_t> || std::is_integral_v<Size>
                                 ? simt::alignment_of<T>()
                                 : simt::kAlignmentOfSize<Size>;
  simt::copy_by_group<kAlignment>(group, to, from, bytes);
}
// Numbers of elements: the smaller one is copied.
template <class Group, class T, class SizeTo, class SizeFrom>
SIMT_INLINE void memcpy_async(
    const Group& group, T* to, const SizeTo& room, const std::type_identity_t<T>* from,
    const SizeFrom& count) {
  const std::size_t fewer = std::size_t(room) < std::size_t(count) ? room : count;
  simt::copy_by_group<simt::alignment_of<T>()>(group, to, from, fewer * sizeof(T));
}

// Until the group's copies are complete, except those of its last `stages` calls.
template <unsigned stages, class Group>
SIMT_INLINE void wait_prior(const Group& group) {
  __pipeline_wait_prior(stages);
  group.sync();
}
template <class Group>
SIMT_INLINE void wait(const Group& group) {
  wait_prior<0>(group);
}

}  // namespace cooperative_groups
