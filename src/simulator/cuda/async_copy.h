// Asynchronous copies from global to shared memory, as <cuda/pipeline>, <cuda/barrier> and
// cooperative groups make them from cp.async.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/cuda/cpu.h"

// The thread arrives at an mbarrier (cuda/hopper_instructions.h) when its cp.async copies so far
// are complete. The arrival is one of those that the barrier was initialized for (noinc), or one
// more.
void cp_async_mbarrier_arrive_noinc(std::uint64_t* barrier);
void cp_async_mbarrier_arrive(std::uint64_t* barrier);

namespace simt {

std::uint64_t mbarrier_phase(std::uint64_t* barrier);  // the one in progress

// Pieces of `alignment` bytes, one for each thread of the group in turn.
template <int alignment>
SIMT_INLINE void copy_pieces(
    char* to, const char* from, std::size_t bytes, std::size_t rank, std::size_t threads) {
  using Piece = typename Bits<alignment>::Type;
  for (std::size_t i = rank * alignment; i < bytes; i += threads * alignment) {
    *reinterpret_cast<Piece*>(to + i) = *reinterpret_cast<const Piece*>(from + i);
  }
}
template <int alignment>
SIMT_INLINE void start_copies(
    char* to, const char* from, std::size_t bytes, std::size_t rank, std::size_t threads) {
  for (std::size_t i = rank * alignment; i < bytes; i += threads * alignment) {
    __pipeline_memcpy_async(to + i, from + i, alignment);
  }
}

// The threads of a group copy together: by cp.async of up to 16 bytes if the alignment is at least
// 4, and otherwise by loads and stores. (For a barrier and an alignment of 16, sm_90 would use the
// copy engine.) Returns whether the copies are asynchronous.
template <int known_alignment>
SIMT_INLINE bool copy_together(
    void* to_, const void* from_, std::size_t bytes, std::size_t rank, std::size_t threads) {
  constexpr int kAlignment = known_alignment < 16 ? known_alignment : 16;
  char* const to = static_cast<char*>(to_);
  const char* const from = static_cast<const char*>(from_);
  if constexpr (kAlignment >= 4) {
    if (__isShared(to) && __isGlobal(from)) {
      start_copies<kAlignment>(to, from, bytes, rank, threads);
      return true;
    }
  }
  copy_pieces<kAlignment>(to, from, bytes, rank, threads);
  return false;
}

}  // namespace simt
