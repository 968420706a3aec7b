// CUDA's functions on the bits of numbers, and its integer arithmetic.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/vector_types.h"

#define SIMT_INLINE inline SIMT_ALWAYS_INLINE

SIMT_INLINE int __float_as_int(float a) {
  return std::bit_cast<int>(a);
}
SIMT_INLINE unsigned __float_as_uint(float a) {
  return std::bit_cast<unsigned>(a);
}
SIMT_INLINE float __int_as_float(int a) {
  return std::bit_cast<float>(a);
}
SIMT_INLINE float __uint_as_float(unsigned a) {
  return std::bit_cast<float>(a);
}
SIMT_INLINE long long __double_as_longlong(double a) {
  return std::bit_cast<long long>(a);
}
SIMT_INLINE double __longlong_as_double(long long a) {
  return std::bit_cast<double>(a);
}
SIMT_INLINE int __double2hiint(double a) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(a) >> 32);
}
SIMT_INLINE int __double2loint(double a) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(a));
}
SIMT_INLINE double __hiloint2double(int high, int low) {
  const std::uint64_t upper = static_cast<std::uint32_t>(high);
  return std::bit_cast<double>(upper << 32 | static_cast<std::uint32_t>(low));
}

SIMT_INLINE int __popc(unsigned a) {
  return std::popcount(a);
}
SIMT_INLINE int __popcll(unsigned long long a) {
  return std::popcount(a);
}
SIMT_INLINE int __clz(int a) {
  return std::countl_zero(static_cast<unsigned>(a));
}
SIMT_INLINE int __clzll(long long a) {
  return std::countl_zero(static_cast<unsigned long long>(a));
}
SIMT_INLINE int __ffs(int a) {
  return __builtin_ffs(a);
}
SIMT_INLINE int __ffsll(long long a) {
  return __builtin_ffsll(a);
}
SIMT_INLINE unsigned long long __brevll(unsigned long long a) {
  a = (a >> 1 & 0x5555555555555555u) | (a & 0x5555555555555555u) << 1;
  a = (a >> 2 & 0x3333333333333333u) | (a & 0x3333333333333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0f0f0f0f0fu) | (a & 0x0f0f0f0f0f0f0f0fu) << 4;
  return __builtin_bswap64(a);
}
SIMT_INLINE unsigned __brev(unsigned a) {
  return static_cast<unsigned>(__brevll(a) >> 32);
}
// Byte i of the result is the byte of `high`:`low` that the four bits i of `selector` name; the
// highest of the four is ignored.
SIMT_INLINE unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned>(bytes >> (selector >> 4 * i & 7u) * 8 & 0xffu);
    result |= byte << 8 * i;
  }
  return result;
}
// Shifts of `high`:`low`; the c variants shift by at most 32, the others by the shift modulo 32.
SIMT_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  return static_cast<unsigned>(both << (shift < 32 ? shift : 32) >> 32);
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  return static_cast<unsigned>(both >> (shift < 32 ? shift : 32));
}
SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return __funnelshift_lc(low, high, shift % 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return __funnelshift_rc(low, high, shift % 32);
}

SIMT_INLINE int __mulhi(int a, int b) {
  return static_cast<int>(std::int64_t{a} * b >> 32);
}
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
SIMT_INLINE long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
// The lower 32 bits of the product of the lower 24 bits.
SIMT_INLINE unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffffu) * (b & 0xffffffu);
}
SIMT_INLINE int __mul24(int a, int b) {
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(std::int64_t{low(a)} * low(b));
}
SIMT_INLINE unsigned __sad(int a, int b, unsigned c) {
  const auto apart = static_cast<unsigned>(a) - static_cast<unsigned>(b);
  return (a < b ? 0 - apart : apart) + c;
}
SIMT_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return (a < b ? b - a : a - b) + c;
}
// Averages without overflow; the r variants round up.
SIMT_INLINE int __hadd(int a, int b) {
  return static_cast<int>((std::int64_t{a} + b) >> 1);
}
SIMT_INLINE int __rhadd(int a, int b) {
  return static_cast<int>((std::int64_t{a} + b + 1) >> 1);
}
SIMT_INLINE unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((std::uint64_t{a} + b) >> 1);
}
SIMT_INLINE unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((std::uint64_t{a} + b + 1) >> 1);
}

// max(a + b, c); the sum wraps around, as on the GPU.
SIMT_INLINE int __viaddmax_s32(int a, int b, int c) {
  const auto sum = static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  return sum < c ? c : sum;
}

namespace simt {
// The sum of the products of four bytes, and c; sums wrap around.
template <class Byte, class Result>
SIMT_INLINE Result dot_of_bytes(unsigned a, unsigned b, Result c) {
  unsigned sum = static_cast<unsigned>(c);
  for (int i = 0; i < 4; ++i) {
    const int x = static_cast<Byte>(a >> 8 * i), y = static_cast<Byte>(b >> 8 * i);
    sum += static_cast<unsigned>(x * y);
  }
  return static_cast<Result>(sum);
}
// Two 16-bit parts of a, times the bytes of b from byte `first` on.
template <class Half, class Byte, class Result>
SIMT_INLINE Result dot_of_halves(unsigned a, unsigned b, int first, Result c) {
  unsigned sum = static_cast<unsigned>(c);
  for (int i = 0; i < 2; ++i) {
    const int x = static_cast<Half>(a >> 16 * i), y = static_cast<Byte>(b >> 8 * (first + i));
    sum += static_cast<unsigned>(x * y);
  }
  return static_cast<Result>(sum);
}
}  // namespace simt
SIMT_INLINE int __dp4a(int a, int b, int c) {
  return simt::dot_of_bytes<std::int8_t>(a, b, c);
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return simt::dot_of_bytes<std::uint8_t>(a, b, c);
}
SIMT_INLINE int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(std::bit_cast<int>(simt::bits_of(a)), std::bit_cast<int>(simt::bits_of(b)), c);
}
SIMT_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return __dp4a(simt::bits_of(a), simt::bits_of(b), c);
}
SIMT_INLINE int __dp2a_lo(int a, int b, int c) {
  return simt::dot_of_halves<std::int16_t, std::int8_t>(a, b, 0, c);
}
SIMT_INLINE int __dp2a_hi(int a, int b, int c) {
  return simt::dot_of_halves<std::int16_t, std::int8_t>(a, b, 2, c);
}
SIMT_INLINE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return simt::dot_of_halves<std::uint16_t, std::uint8_t>(a, b, 0, c);
}
SIMT_INLINE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return simt::dot_of_halves<std::uint16_t, std::uint8_t>(a, b, 2, c);
}
