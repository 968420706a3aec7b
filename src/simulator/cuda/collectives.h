// Collective operations of a warp or block, and atomics.
//
// The lanes named by a mask wait for each other and then exchange values. As on a GPU since Volta,
// each lane must reach the same kind of call with the same mask, or have left the kernel. If a lane
// never comes because it waits elsewhere, that is a KernelFault (src/simulator/machine/fault.h).
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "model/tensor_core.h"
#include "simulator/cuda/runtime.h"
#include "simulator/cuda/vector_types.h"

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
// On the CPU all fences act alike, because all blocks share one memory. The race detector must
// still see them.
inline void __threadfence() {
  simt::fence(true);
}
inline void __threadfence_block() {
  simt::fence(false);
}
inline void __threadfence_system() {
  simt::fence(true);
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

// The number of cycles of a clock that runs only while it is read: no time is measured on the CPU,
// but a thread that waits for it gets on.
long long clock64();

namespace simt {
template <class T>
concept Shuffled = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

// A source lane outside of the exchange gives a value that is recognized (a NaN); on the GPU it is
// undefined.
template <Shuffled T>
T shuffled(unsigned mask, T value, int source, int width) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(
      static_cast<Bits>(warp_shuffle(mask, std::bit_cast<Bits>(value), source, width)));
}
}  // namespace simt

// Smaller integers are shuffled as int.
#define SIMT_SHUFFLE_SMALL(name, Lane)                                     \
  template <std::integral T>                                               \
  requires(sizeof(T) < 4) int name(                                        \
      unsigned mask, T value, Lane lane, int width = simt::warp_lanes()) { \
    return name(mask, static_cast<int>(value), lane, width);               \
  }

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

SIMT_SHUFFLE_SMALL(__shfl_sync, int)
SIMT_SHUFFLE_SMALL(__shfl_up_sync, unsigned)
SIMT_SHUFFLE_SMALL(__shfl_down_sync, unsigned)
SIMT_SHUFFLE_SMALL(__shfl_xor_sync, int)
#undef SIMT_SHUFFLE_SMALL

namespace simt {
// The values of the lanes of `mask` that have not left the kernel; those lanes as bits.
struct Gathered {
  std::uint32_t lanes = 0;
  std::uint64_t values[32];
};
std::uint32_t lanes_with_value(std::uint32_t mask, std::uint64_t value, bool& all);
}  // namespace simt

namespace simt {
// Zero for all bits beyond the value's own.
template <class T>
requires(std::is_arithmetic_v<T>) std::uint64_t compared_bits(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<std::common_type_t<T, int>>>(value);
  } else {
    return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
  }
}
}  // namespace simt

// The lanes whose value has the same bits.
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
  bool all;
  return simt::lanes_with_value(mask, simt::compared_bits(value), all);
}
// All lanes, if their values have the same bits; else none.
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate) {
  bool all;
  const unsigned lanes = simt::lanes_with_value(mask, simt::compared_bits(value), all);
  *predicate = all;
  return all ? lanes : 0;
}
// Results for two lanes' values. The machine combines all: in the kernel, each step would be
// traced.
#define SIMT_REDUCTIONS(each)                                                            \
  each(add, unsigned, a + b);                                                            \
  each(add, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b))); \
  each(min, unsigned, b < a ? b : a);                                                    \
  each(min, int, b < a ? b : a);                                                         \
  each(max, unsigned, a < b ? b : a);                                                    \
  each(max, int, a < b ? b : a);                                                         \
  each(and, unsigned, a& b);                                                             \
  each(or, unsigned, a | b);                                                             \
  each(xor, unsigned, a ^ b)
#define SIMT_REDUCE(name, T, result)                        \
  namespace simt {                                          \
  T reduce_##name(unsigned mask, T value);                  \
  }                                                         \
  inline T __reduce_##name##_sync(unsigned mask, T value) { \
    return simt::reduce_##name(mask, value);                \
  }
SIMT_REDUCTIONS(SIMT_REDUCE)
#undef SIMT_REDUCE

// Where a pointer points to. `__constant__` variables are in global memory here.
unsigned __isShared(const void* pointer);
unsigned __isGlobal(const void* pointer);
unsigned __isLocal(const void* pointer);

// Counted as one load and one store each, because that is their effect on memory. (The GPU sends
// one request, RED or ATOM, and counts it separately from loads and stores.)
float atomicAdd(float* address, float value);
double atomicAdd(double* address, double value);
// Results for the old value and the one given. Signed sums wrap around, as on the GPU; atomicInc
// and atomicDec count between 0 and the value, and wrap around, too.
#define SIMT_OF_INTEGERS(each, name, result) \
  each(name, int, result);                   \
  each(name, unsigned, result);              \
  each(name, unsigned long long, result)
#define SIMT_ATOMICS(each)                                              \
  each(atomicAdd, int, int(unsigned(old) + unsigned(value)));           \
  each(atomicAdd, unsigned, old + value);                               \
  each(atomicAdd, unsigned long long, old + value);                     \
  each(atomicSub, int, int(unsigned(old) - unsigned(value)));           \
  each(atomicSub, unsigned, old - value);                               \
  each(atomicInc, unsigned, old >= value ? 0 : old + 1);                \
  each(atomicDec, unsigned, old == 0 || old > value ? value : old - 1); \
  each(atomicMin, long long, value < old ? value : old);                \
  each(atomicMax, long long, old < value ? value : old);                \
  SIMT_OF_INTEGERS(each, atomicMin, value < old ? value : old);         \
  SIMT_OF_INTEGERS(each, atomicMax, old < value ? value : old);         \
  SIMT_OF_INTEGERS(each, atomicAnd, old& value);                        \
  SIMT_OF_INTEGERS(each, atomicOr, old | value);                        \
  SIMT_OF_INTEGERS(each, atomicXor, old ^ value)
#define SIMT_ATOMIC(name, T, result) T name(T* address, T value)
SIMT_ATOMICS(SIMT_ATOMIC);
SIMT_OF_INTEGERS(SIMT_ATOMIC, atomicExch, value);
#undef SIMT_ATOMIC
float atomicExch(float* address, float value);
unsigned short atomicCAS(unsigned short* address, unsigned short expected, unsigned short value);
int atomicCAS(int* address, int expected, int value);
unsigned atomicCAS(unsigned* address, unsigned expected, unsigned value);
unsigned long long atomicCAS(
    unsigned long long* address, unsigned long long expected, unsigned long long value);

namespace simt {
// Adds one or two numbers of 16 bits, and returns the old bits.
std::uint16_t atomic_add(
    std::uint16_t* address, std::uint16_t value, const model::NarrowFormat& format);
std::uint32_t atomic_add(
    std::uint32_t* address, std::uint32_t values, const model::NarrowFormat& format);
}  // namespace simt

// The variants for the whole system act here like those for the GPU; the race detector knows that
// those for a block do not order blocks.
#define SIMT_SCOPES(name)                                              \
  template <class... Arguments>                                        \
  inline SIMT_ALWAYS_INLINE auto name##_block(Arguments... arguments)  \
      ->decltype(name(arguments...)) {                                 \
    simt::in_block();                                                  \
    return name(arguments...);                                         \
  }                                                                    \
  template <class... Arguments>                                        \
  inline SIMT_ALWAYS_INLINE auto name##_system(Arguments... arguments) \
      ->decltype(name(arguments...)) {                                 \
    return name(arguments...);                                         \
  }
SIMT_SCOPES(atomicAdd)
SIMT_SCOPES(atomicSub)
SIMT_SCOPES(atomicMin)
SIMT_SCOPES(atomicMax)
SIMT_SCOPES(atomicAnd)
SIMT_SCOPES(atomicOr)
SIMT_SCOPES(atomicXor)
SIMT_SCOPES(atomicExch)
SIMT_SCOPES(atomicCAS)
SIMT_SCOPES(atomicInc)
SIMT_SCOPES(atomicDec)
#undef SIMT_SCOPES
