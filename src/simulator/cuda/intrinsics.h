// CUDA's mathematical functions for a single thread. On the CPU, the fast versions are the accurate
// ones.
#pragma once

#include <math.h>

#include <bit>
#include <climits>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "simulator/cuda/cached_access.h"
#include "simulator/cuda/vector_types.h"

// CUDA's functions on the bits of numbers, and its integer arithmetic.

#define SIMT_INLINE inline SIMT_ALWAYS_INLINE
// A function of a, or of a and b, that are of one type.
#define SIMT_OF_ONE(Result, name, Type, value) \
  SIMT_INLINE Result name(Type a) {            \
    return value;                              \
  }
#define SIMT_OF_TWO(Result, name, Type, value) \
  SIMT_INLINE Result name(Type a, Type b) {    \
    return value;                              \
  }

SIMT_OF_ONE(int, __float_as_int, float, std::bit_cast<int>(a))
SIMT_OF_ONE(unsigned, __float_as_uint, float, std::bit_cast<unsigned>(a))
SIMT_OF_ONE(float, __int_as_float, int, std::bit_cast<float>(a))
SIMT_OF_ONE(float, __uint_as_float, unsigned, std::bit_cast<float>(a))
SIMT_OF_ONE(long long, __double_as_longlong, double, std::bit_cast<long long>(a))
SIMT_OF_ONE(double, __longlong_as_double, long long, std::bit_cast<double>(a))
SIMT_OF_ONE(int, __double2hiint, double, static_cast<int>(std::bit_cast<std::uint64_t>(a) >> 32))
SIMT_OF_ONE(int, __double2loint, double, static_cast<int>(std::bit_cast<std::uint64_t>(a)))
SIMT_INLINE double __hiloint2double(int high, int low) {
  const std::uint64_t upper = static_cast<std::uint32_t>(high);
  return std::bit_cast<double>(upper << 32 | static_cast<std::uint32_t>(low));
}

SIMT_OF_ONE(int, __popc, unsigned, std::popcount(a))
SIMT_OF_ONE(int, __popcll, unsigned long long, std::popcount(a))
SIMT_OF_ONE(int, __clz, int, std::countl_zero(static_cast<unsigned>(a)))
SIMT_OF_ONE(int, __clzll, long long, std::countl_zero(static_cast<unsigned long long>(a)))
SIMT_OF_ONE(int, __ffs, int, __builtin_ffs(a))
SIMT_OF_ONE(int, __ffsll, long long, __builtin_ffsll(a))
SIMT_INLINE unsigned long long __brevll(unsigned long long a) {
  a = (a >> 1 & 0x5555555555555555u) | (a & 0x5555555555555555u) << 1;
  a = (a >> 2 & 0x3333333333333333u) | (a & 0x3333333333333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0f0f0f0f0fu) | (a & 0x0f0f0f0f0f0f0f0fu) << 4;
  return __builtin_bswap64(a);
}
SIMT_OF_ONE(unsigned, __brev, unsigned, static_cast<unsigned>(__brevll(a) >> 32))
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

SIMT_OF_TWO(int, __mulhi, int, static_cast<int>(std::int64_t{a} * b >> 32))
SIMT_OF_TWO(unsigned, __umulhi, unsigned, static_cast<unsigned>(std::uint64_t{a} * b >> 32))
SIMT_OF_TWO(
    long long, __mul64hi, long long, static_cast<long long>(static_cast<__int128>(a) * b >> 64))
SIMT_OF_TWO(
    unsigned long long, __umul64hi, unsigned long long,
    static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64))
// The lower 32 bits of the product of the lower 24 bits.
SIMT_OF_TWO(unsigned, __umul24, unsigned, (a & 0xffffffu) * (b & 0xffffffu))
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
SIMT_OF_TWO(int, __hadd, int, static_cast<int>((std::int64_t{a} + b) >> 1))
SIMT_OF_TWO(int, __rhadd, int, static_cast<int>((std::int64_t{a} + b + 1) >> 1))
SIMT_OF_TWO(unsigned, __uhadd, unsigned, static_cast<unsigned>((std::uint64_t{a} + b) >> 1))
SIMT_OF_TWO(unsigned, __urhadd, unsigned, static_cast<unsigned>((std::uint64_t{a} + b + 1) >> 1))

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

// Of each two parts x and y, of 16 or 8 bits.
#define SIMT_OF_PARTS(name, Part, value)                                        \
  SIMT_INLINE unsigned name(unsigned a, unsigned b) {                           \
    unsigned result = 0;                                                        \
    for (unsigned at = 0; at < 32; at += 8 * sizeof(Part)) {                    \
      const int x = static_cast<Part>(a >> at), y = static_cast<Part>(b >> at); \
      result |= unsigned{static_cast<std::make_unsigned_t<Part>>(value)} << at; \
    }                                                                           \
    return result;                                                              \
  }
SIMT_OF_PARTS(__vadd2, std::uint16_t, x + y)
SIMT_OF_PARTS(__vsub2, std::uint16_t, x - y)
SIMT_OF_PARTS(__vmins2, std::int16_t, x < y ? x : y)
SIMT_OF_PARTS(__vminu2, std::uint16_t, x < y ? x : y)
SIMT_OF_PARTS(__vmaxs2, std::int16_t, x < y ? y : x)
SIMT_OF_PARTS(__vmaxu2, std::uint16_t, x < y ? y : x)
SIMT_OF_PARTS(__vadd4, std::uint8_t, x + y)
SIMT_OF_PARTS(__vsub4, std::uint8_t, x - y)
SIMT_OF_PARTS(__vmins4, std::int8_t, x < y ? x : y)
SIMT_OF_PARTS(__vminu4, std::uint8_t, x < y ? x : y)
SIMT_OF_PARTS(__vmaxs4, std::int8_t, x < y ? y : x)
SIMT_OF_PARTS(__vmaxu4, std::uint8_t, x < y ? y : x)
SIMT_OF_PARTS(__vabsdiffu4, std::uint8_t, x < y ? y - x : x - y)
SIMT_OF_PARTS(__vavgu4, std::uint8_t, (x + y + 1) / 2)
SIMT_OF_PARTS(__vcmpeq4, std::uint8_t, x == y ? 255 : 0)
SIMT_OF_PARTS(__vcmpgtu4, std::uint8_t, x > y ? 255 : 0)
#undef SIMT_OF_PARTS

// Arithmetic and conversions that say in their name how they round: to nearest (rn), toward zero
// (rz), up (ru) or down (rd). X(type, name, parameters, arguments, result) for each, of which
// src/simulator/machine/arithmetic.cpp computes the result.
#define SIMT_ROUNDED_ARITHMETIC(X, T, letter, fma_name) \
  X(T, __##letter##add, (T a, T b), (a, b), a + b)      \
  X(T, __##letter##sub, (T a, T b), (a, b), a - b)      \
  X(T, __##letter##mul, (T a, T b), (a, b), a* b)       \
  X(T, __##letter##div, (T a, T b), (a, b), a / b)      \
  X(T, __##letter##rcp, (T a), (a), 1 / a)              \
  X(T, __##letter##sqrt, (T a), (a), std::sqrt(a))      \
  X(T, fma_name, (T a, T b, T c), (a, b, c), std::fma(a, b, c))
#define SIMT_ROUNDED_INTEGERS(X, T)                              \
  X(int, __##T##2int, (T a), (a), to_integer<int>(a))            \
  X(unsigned, __##T##2uint, (T a), (a), to_integer<unsigned>(a)) \
  X(long long, __##T##2ll, (T a), (a), to_integer<long long>(a)) \
  X(unsigned long long, __##T##2ull, (T a), (a), to_integer<unsigned long long>(a))
#define SIMT_ROUNDED(X)                                   \
  SIMT_ROUNDED_ARITHMETIC(X, float, f, __fmaf)            \
  SIMT_ROUNDED_ARITHMETIC(X, double, d, __fma)            \
  SIMT_ROUNDED_INTEGERS(X, float)                         \
  SIMT_ROUNDED_INTEGERS(X, double)                        \
  X(float, __int2float, (int a), (a), a)                  \
  X(float, __uint2float, (unsigned a), (a), a)            \
  X(float, __ll2float, (long long a), (a), a)             \
  X(float, __ull2float, (unsigned long long a), (a), a)   \
  X(double, __ll2double, (long long a), (a), a)           \
  X(double, __ull2double, (unsigned long long a), (a), a) \
  X(float, __double2float, (double a), (a), a)
#define SIMT_DECLARE(T, name, parameters, arguments, result) \
  T name##_rn parameters;                                    \
  T name##_rz parameters;                                    \
  T name##_ru parameters;                                    \
  T name##_rd parameters;
SIMT_ROUNDED(SIMT_DECLARE)
#undef SIMT_DECLARE

// Exact for every int.
double __int2double_rn(int a);
double __uint2double_rn(unsigned a);
float __frsqrt_rn(float a);

// Arguments are taken by value, so that min(a[i], b[i]) loads each once. As in CUDA, mixed argument
// types are converted to the type of their sum.
// They are templates, because a program may have functions with these names: those come first. (If
// it only declares them, machine/arithmetic.cpp has them.)
#define SIMT_MIN_MAX(T, min_name, max_name, smaller, larger) \
  template <class = void>                                    \
  SIMT_INLINE constexpr T min_name(T a, T b) {               \
    return smaller;                                          \
  }                                                          \
  template <class = void>                                    \
  SIMT_INLINE constexpr T max_name(T a, T b) {               \
    return larger;                                           \
  }
#define SIMT_INTEGER_MIN_MAX(T) SIMT_MIN_MAX(T, min, max, b < a ? b : a, a < b ? b : a)
SIMT_INTEGER_MIN_MAX(int)
SIMT_INTEGER_MIN_MAX(unsigned)
SIMT_INTEGER_MIN_MAX(long)
SIMT_INTEGER_MIN_MAX(unsigned long)
SIMT_INTEGER_MIN_MAX(long long)
SIMT_INTEGER_MIN_MAX(unsigned long long)
#undef SIMT_INTEGER_MIN_MAX
SIMT_MIN_MAX(float, min, max, fminf(a, b), fmaxf(a, b))
SIMT_MIN_MAX(double, min, max, fmin(a, b), fmax(a, b))
SIMT_MIN_MAX(unsigned, umin, umax, min(a, b), max(a, b))
SIMT_MIN_MAX(long long, llmin, llmax, min(a, b), max(a, b))
SIMT_MIN_MAX(unsigned long long, ullmin, ullmax, min(a, b), max(a, b))
#undef SIMT_MIN_MAX
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> && !std::same_as<A, B>) SIMT_INLINE
    constexpr auto min(A a, B b) -> decltype(a + b) {
  return min(static_cast<decltype(a + b)>(a), static_cast<decltype(a + b)>(b));
}
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> && !std::same_as<A, B>) SIMT_INLINE
    constexpr auto max(A a, B b) -> decltype(a + b) {
  return max(static_cast<decltype(a + b)>(a), static_cast<decltype(a + b)>(b));
}

SIMT_OF_TWO(float, __fdividef, float, a / b)
SIMT_OF_TWO(float, fdividef, float, a / b)
// Newer versions of glibc declare functions with some of these names.
#define rsqrtf simt_rsqrtf
#define rsqrt simt_rsqrt
#define sinpif simt_sinpif
#define sinpi simt_sinpi
#define cospif simt_cospif
#define cospi simt_cospi
SIMT_OF_ONE(float, rsqrtf, float, 1 / sqrtf(a))
SIMT_OF_ONE(double, rsqrt, double, 1 / sqrt(a))
SIMT_OF_ONE(float, rsqrt, float, rsqrtf(a))
SIMT_OF_ONE(float, rcbrtf, float, 1 / cbrtf(a))
SIMT_OF_ONE(double, rcbrt, double, 1 / cbrt(a))
SIMT_OF_TWO(float, rhypotf, float, 1 / hypotf(a, b))
SIMT_OF_TWO(double, rhypot, double, 1 / hypot(a, b))
SIMT_INLINE float norm3df(float a, float b, float c) {
  return static_cast<float>(sqrt(double{a} * a + double{b} * b + double{c} * c));
}
SIMT_INLINE float rnorm3df(float a, float b, float c) {
  return 1 / norm3df(a, b, c);
}
SIMT_INLINE float norm4df(float a, float b, float c, float d) {
  return static_cast<float>(sqrt(double{a} * a + double{b} * b + double{c} * c + double{d} * d));
}
SIMT_INLINE float rnorm4df(float a, float b, float c, float d) {
  return 1 / norm4df(a, b, c, d);
}
// Of pi times the argument: the remainder is taken first, so that the sine of a whole number is 0.
SIMT_INLINE double sinpi(double a) {
  const double turns = remainder(a, 2);
  return fabs(turns) == 1 ? 0 * turns : sin(M_PI * turns);
}
SIMT_INLINE double cospi(double a) {
  const double turns = fabs(remainder(a, 2));
  return turns == 0.5 ? 0 : cos(M_PI * turns);
}
SIMT_OF_ONE(float, sinpif, float, static_cast<float>(sinpi(a)))
SIMT_OF_ONE(float, cospif, float, static_cast<float>(cospi(a)))
SIMT_INLINE void sincospif(float a, float* sine, float* cosine) {
  *sine = sinpif(a);
  *cosine = cospif(a);
}
SIMT_INLINE void sincospi(double a, double* sine, double* cosine) {
  *sine = sinpi(a);
  *cosine = cospi(a);
}
SIMT_OF_ONE(double, normcdf, double, 0.5 * erfc(-a * M_SQRT1_2))
SIMT_OF_ONE(float, normcdff, float, static_cast<float>(normcdf(a)))
// A start from Abramowitz and Stegun, 26.2.22, and steps by Halley's method.
SIMT_INLINE double erfcinv(double a) {
  const double tail = a < 1 ? a : 2 - a, t = sqrt(-2 * log(tail / 2));
  double x = tail == 0
                 ? HUGE_VAL
                 : M_SQRT1_2 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
  for (int step = 0; step < 3 && tail > 0; ++step) {
    const double error = erfc(x) - tail;
    x += error / (M_2_SQRTPI * exp(-x * x) - x * error);
  }
  return a < 1 ? x : -x;
}
SIMT_OF_ONE(float, erfcinvf, float, static_cast<float>(erfcinv(a)))
SIMT_INLINE double erfinv(double a) {
  const double x = erfcinv(1 - a);
  return fabs(a) < 0.5 ? x - (erf(x) - a) / (M_2_SQRTPI * exp(-x * x)) : x;
}
SIMT_OF_ONE(float, erfinvf, float, static_cast<float>(erfinv(a)))
SIMT_OF_ONE(double, normcdfinv, double, erfcinv(2 * a) * -M_SQRT2)
SIMT_OF_ONE(float, normcdfinvf, float, static_cast<float>(normcdfinv(a)))
// A NaN becomes 0.
SIMT_OF_ONE(float, __saturatef, float, fminf(fmaxf(a, 0), 1))
// Macros, because glibc declares functions with these names.
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __exp10f exp10f
#define __sincosf sincosf
