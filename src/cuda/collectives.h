// Collective operations of a warp or block, and atomics.
//
// The lanes named by a mask wait for each other and then exchange values. As on a GPU since Volta,
// each lane must reach the same kind of call with the same mask, or have left the kernel. If a lane
// never comes because it waits elsewhere, that is a KernelFault (src/machine/fault.h).
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "cuda/runtime.h"

inline void __syncthreads() {
  simt::block_barrier();
}
inline int __syncthreads_count(int predicate) {
  return simt::block_barrier(predicate != 0).votes;
}
inline int __syncthreads_and(int predicate) {
  const simt::BlockVote vote = simt::block_barrier(predicate != 0);
  return vote.votes == vote.threads;
}
inline int __syncthreads_or(int predicate) {
  return simt::block_barrier(predicate != 0).votes > 0;
}
// On the CPU all fences are equal, because all blocks share one memory. The race detector must
// still see them.
inline void __threadfence() {
  simt::fence();
}
inline void __threadfence_block() {
  simt::fence();
}
inline void __threadfence_system() {
  simt::fence();
}
inline void __nanosleep(unsigned) {
  simt::let_others_run();
}

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  simt::warp_barrier(mask);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return simt::warp_ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return simt::warp_ballot(mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return simt::warp_ballot(mask, predicate == 0) == 0;
}
unsigned __activemask();
[[noreturn]] void __trap();

namespace simt {
template <class T>
concept Shuffled = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

// A source lane outside of the exchange gives a value with every bit set (a NaN); on the GPU the
// value is undefined.
template <Shuffled T>
T shuffled(unsigned mask, T value, int source, int width) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(
      static_cast<Bits>(warp_shuffle(mask, std::bit_cast<Bits>(value), source, width)));
}
}  // namespace simt

// Each group of `width` lanes shuffles on its own; `width` is a power of two up to warpSize.
template <simt::Shuffled T>
T __shfl_sync(unsigned mask, T value, int source, int width = simt::warp_lanes()) {
  const int first = simt::lane() & ~(width - 1);
  return simt::shuffled(mask, value, first + (source & (width - 1)), width);
}
template <simt::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = simt::warp_lanes()) {
  const int lane = simt::lane(), in_segment = lane & (width - 1);
  return simt::shuffled(
      mask, value, in_segment < static_cast<int>(delta) ? lane : lane - delta, width);
}
template <simt::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = simt::warp_lanes()) {
  const int lane = simt::lane(), in_segment = lane & (width - 1);
  return simt::shuffled(
      mask, value, in_segment + static_cast<int>(delta) < width ? lane + delta : lane, width);
}
// The source may be a lane of an earlier segment, but not of a later one.
template <simt::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = simt::warp_lanes()) {
  const int lane = simt::lane(), source = lane ^ lane_mask;
  const int end = (lane & ~(width - 1)) + width;
  return simt::shuffled(mask, value, source < end ? source : lane, width);
}

// Counted as one load and one store each, because that is their effect on memory. (The GPU sends
// one request, RED or ATOM, and counts it separately from loads and stores.)
int atomicAdd(int* address, int value);
unsigned atomicAdd(unsigned* address, unsigned value);
unsigned long long atomicAdd(unsigned long long* address, unsigned long long value);
float atomicAdd(float* address, float value);
double atomicAdd(double* address, double value);
int atomicSub(int* address, int value);
unsigned atomicSub(unsigned* address, unsigned value);
unsigned atomicInc(unsigned* address, unsigned value);
unsigned atomicDec(unsigned* address, unsigned value);
#define SIMT_ATOMIC(name)                           \
  int name(int* address, int value);                \
  unsigned name(unsigned* address, unsigned value); \
  unsigned long long name(unsigned long long* address, unsigned long long value);
SIMT_ATOMIC(atomicMin)
SIMT_ATOMIC(atomicMax)
SIMT_ATOMIC(atomicAnd)
SIMT_ATOMIC(atomicOr)
SIMT_ATOMIC(atomicXor)
SIMT_ATOMIC(atomicExch)
#undef SIMT_ATOMIC
float atomicExch(float* address, float value);
long long atomicMin(long long* address, long long value);
long long atomicMax(long long* address, long long value);
unsigned short atomicCAS(unsigned short* address, unsigned short expected, unsigned short value);
int atomicCAS(int* address, int expected, int value);
unsigned atomicCAS(unsigned* address, unsigned expected, unsigned value);
unsigned long long atomicCAS(
    unsigned long long* address, unsigned long long expected, unsigned long long value);

// The variants for a block and for the whole system act here like those for the GPU.
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicCAS_block atomicCAS
#define atomicCAS_system atomicCAS
#define atomicExch_block atomicExch
#define atomicExch_system atomicExch
