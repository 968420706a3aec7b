// CUDA's functions for a single thread: arithmetic, bits, and loads and stores with a cache hint.
// On the CPU, the fast versions of the mathematical functions are the accurate ones.
#pragma once

#include <math.h>

#include <bit>
#include <climits>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cuda/runtime.h"
#include "cuda/vector_types.h"

#define SIMT_INLINE inline SIMT_ALWAYS_INLINE

// Arguments are taken by value, so that min(a[i], b[i]) loads each once. As in CUDA, mixed argument
// types are converted to the type of their sum.
#define SIMT_MIN_MAX(T)                   \
  SIMT_INLINE constexpr T min(T a, T b) { \
    return b < a ? b : a;                 \
  }                                       \
  SIMT_INLINE constexpr T max(T a, T b) { \
    return a < b ? b : a;                 \
  }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
SIMT_INLINE float min(float a, float b) {
  return fminf(a, b);
}
SIMT_INLINE float max(float a, float b) {
  return fmaxf(a, b);
}
SIMT_INLINE double min(double a, double b) {
  return fmin(a, b);
}
SIMT_INLINE double max(double a, double b) {
  return fmax(a, b);
}
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

SIMT_INLINE float __fadd_rn(float a, float b) {
  return a + b;
}
SIMT_INLINE float __fsub_rn(float a, float b) {
  return a - b;
}
SIMT_INLINE float __fmul_rn(float a, float b) {
  return a * b;
}
SIMT_INLINE float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
SIMT_INLINE float __fdividef(float a, float b) {
  return a / b;
}
SIMT_INLINE float rsqrtf(float a) {
  return 1 / sqrtf(a);
}
SIMT_INLINE float __saturatef(float a) {
  return fminf(fmaxf(a, 0), 1);
}
// Macros, because glibc declares functions with these names.
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf

// max(a + b, c); the sum wraps around, as on the GPU.
SIMT_INLINE int __viaddmax_s32(int a, int b, int c) {
  return max(static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c);
}

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
SIMT_INLINE int __popc(unsigned a) {
  return std::popcount(a);
}
SIMT_INLINE int __clz(int a) {
  return std::countl_zero(static_cast<unsigned>(a));
}
SIMT_INLINE int __ffs(int a) {
  return __builtin_ffs(a);
}
SIMT_INLINE int __mul24(int a, int b) {
  return a * b;
}
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}

// A cache hint changes no count. The launch must not store what __ldg loads, so the tracer is told
// about the load.
template <class T>
SIMT_INLINE T __ldg(const T* p) {
#ifdef __SANITIZE_THREAD__
  simt::read_only_load(p, sizeof(T));
#endif
  return *p;
}
template <class T>
SIMT_INLINE T __ldca(const T* p) {
  return *p;
}
template <class T>
SIMT_INLINE T __ldcg(const T* p) {
  return *p;
}
template <class T>
SIMT_INLINE T __ldcs(const T* p) {
  return *p;
}
template <class T>
SIMT_INLINE void __stcg(T* p, const T& value) {
  *p = value;
}
template <class T>
SIMT_INLINE void __stcs(T* p, const T& value) {
  *p = value;
}
