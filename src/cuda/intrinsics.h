// CUDA's mathematical functions for a single thread. On the CPU, the fast versions are the accurate
// ones.
#pragma once

#include <math.h>

#include <climits>
#include <concepts>
#include <type_traits>

#include "cuda/bits.h"
#include "cuda/cached_access.h"
#include "cuda/rounded_arithmetic.h"

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
// Templates, because a program's host code may have functions with these names: they come first.
#define SIMT_NAMED_MIN_MAX(T, min_name, max_name) \
  template <class = void>                         \
  SIMT_INLINE constexpr T min_name(T a, T b) {    \
    return min(a, b);                             \
  }                                               \
  template <class = void>                         \
  SIMT_INLINE constexpr T max_name(T a, T b) {    \
    return max(a, b);                             \
  }
SIMT_NAMED_MIN_MAX(unsigned, umin, umax)
SIMT_NAMED_MIN_MAX(long long, llmin, llmax)
SIMT_NAMED_MIN_MAX(unsigned long long, ullmin, ullmax)
#undef SIMT_NAMED_MIN_MAX
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

SIMT_INLINE float __fdividef(float a, float b) {
  return a / b;
}
SIMT_INLINE float fdividef(float a, float b) {
  return a / b;
}
// Newer versions of glibc declare functions with some of these names.
#define rsqrtf simt_rsqrtf
#define rsqrt simt_rsqrt
#define sinpif simt_sinpif
#define sinpi simt_sinpi
#define cospif simt_cospif
#define cospi simt_cospi
SIMT_INLINE float rsqrtf(float a) {
  return 1 / sqrtf(a);
}
SIMT_INLINE double rsqrt(double a) {
  return 1 / sqrt(a);
}
SIMT_INLINE float rsqrt(float a) {
  return rsqrtf(a);
}
SIMT_INLINE float rcbrtf(float a) {
  return 1 / cbrtf(a);
}
SIMT_INLINE double rcbrt(double a) {
  return 1 / cbrt(a);
}
SIMT_INLINE float rhypotf(float a, float b) {
  return 1 / hypotf(a, b);
}
SIMT_INLINE double rhypot(double a, double b) {
  return 1 / hypot(a, b);
}
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
SIMT_INLINE float sinpif(float a) {
  return static_cast<float>(sinpi(a));
}
SIMT_INLINE float cospif(float a) {
  return static_cast<float>(cospi(a));
}
SIMT_INLINE void sincospif(float a, float* sine, float* cosine) {
  *sine = sinpif(a);
  *cosine = cospif(a);
}
SIMT_INLINE void sincospi(double a, double* sine, double* cosine) {
  *sine = sinpi(a);
  *cosine = cospi(a);
}
SIMT_INLINE double normcdf(double a) {
  return 0.5 * erfc(-a * M_SQRT1_2);
}
SIMT_INLINE float normcdff(float a) {
  return static_cast<float>(normcdf(a));
}
// A NaN becomes 0.
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
#define __exp10f exp10f
#define __sincosf sincosf
