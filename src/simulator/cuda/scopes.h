// Shared by the headers of libcu++: the scopes of its objects, and its asynchronous copies.
#pragma once

#include <type_traits>

#include "simulator/cuda/async_copy.h"

namespace cuda {

enum thread_scope {
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread
};

// A number of bytes at addresses that are multiples of `alignment`, which divides it.
template <std::size_t alignment>
struct aligned_size_t {
  static constexpr std::size_t align = alignment;
  std::size_t value;
  constexpr explicit aligned_size_t(std::size_t bytes) : value(bytes) {}
  constexpr operator std::size_t() const { return value; }
};

}  // namespace cuda

namespace simt {

template <class Size>
inline constexpr int kAlignmentOfSize = 1;
template <std::size_t alignment>
inline constexpr int kAlignmentOfSize<cuda::aligned_size_t<alignment>> = alignment;

template <class T>
constexpr int alignment_of() {
  if constexpr (std::is_void_v<T>) {
    return 1;
  } else {
    return alignof(T);
  }
}
template <class T, class Size>
inline constexpr int kKnownAlignment = alignment_of<T>() < kAlignmentOfSize<Size>
                                           ? kAlignmentOfSize<Size>
                                           : alignment_of<T>();

struct OneThread {
  static constexpr unsigned thread_rank() { return 0; }
  static constexpr unsigned size() { return 1; }
};

}  // namespace simt

namespace cuda {

// `sync` is a pipeline or a barrier for the completion of the copies. All threads of the group call
// this together.
template <class Group, class T, class Size, class Sync>
SIMT_INLINE void memcpy_async(
    const Group& group, T* to, const std::type_identity_t<T>* from, Size bytes, Sync& sync) {
  const bool later = simt::copy_together<simt::kKnownAlignment<T, Size>>(
      to, from, bytes, group.thread_rank(), group.size());
  if (later) sync.expect_copies();
}
template <class T, class Size, class Sync>
SIMT_INLINE void memcpy_async(T* to, const std::type_identity_t<T>* from, Size bytes, Sync& sync) {
  memcpy_async(simt::OneThread{}, to, from, bytes, sync);
}

}  // namespace cuda
