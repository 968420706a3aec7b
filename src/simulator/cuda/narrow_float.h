// What __half and __nv_bfloat16 have in common, and their pairs __half2 and __nv_bfloat162.
//
// Each is stored in 2 bytes and copied by functions of its own, so that the compiler announces one
// access; a pair is one access of 4 bytes. Results are rounded once, to nearest even, as CUDA
// documents it; the functions that the GPU approximates (hexp, hsin, ...) are rounded from the
// accurate value. nvcc may fuse a product and a sum of operators into one fma; here each is
// rounded.
#pragma once

#include <cmath>

#include "model/tensor_core.h"
#include "simulator/cuda/collectives.h"
#include "simulator/cuda/intrinsics.h"
#include "simulator/cuda/vector_types.h"

namespace simt {

// Integers of 64 bits as the sum of two doubles.
template <class V>
SIMT_INLINE std::uint16_t narrowed_number(V value, const model::NarrowFormat& format) {
  if constexpr (std::is_integral_v<V> && sizeof(V) == 8) {
    const V low = value & 0xffffffff;
    return model::narrowed_sum(static_cast<double>(value - low), static_cast<double>(low), format);
  } else {
    return model::narrowed(static_cast<double>(value), format);
  }
}

// As on the GPU: what does not fit becomes the nearest integer that fits, and a NaN 0.
template <class V>
SIMT_INLINE V clamped(int value) {
  constexpr int kBits = sizeof(V) * 8;
  const int least = std::is_signed_v<V> ? -(1 << (kBits - 1)) : 0;
  const int most = std::is_signed_v<V> ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
  return static_cast<V>(value < least ? least : most < value ? most : value);
}

template <class V>
SIMT_INLINE V cut(float value) {
  return clamped<V>(__float2int_rz(value));
}

// Friends of both classes.
#define SIMT_OPERATOR(symbol, name)                                     \
  friend SIMT_INLINE Self operator symbol(Self a, Self b) {             \
    return name(a, b);                                                  \
  }                                                                     \
  friend SIMT_INLINE Self& operator symbol##=(Self& a, const Self& b) { \
    return a = name(a, b);                                              \
  }
#define SIMT_SHUFFLE(name, Lane, bits_of_value)                               \
  friend SIMT_INLINE Self name(                                               \
      unsigned mask, Self value, Lane lane, int width = simt::warp_lanes()) { \
    return Self::of_bits(name(mask, bits_of_value, lane, width));             \
  }
#define SIMT_SHUFFLES(bits_of_value)                      \
  SIMT_SHUFFLE(__shfl_sync, int, bits_of_value)           \
  SIMT_SHUFFLE(__shfl_up_sync, unsigned, bits_of_value)   \
  SIMT_SHUFFLE(__shfl_down_sync, unsigned, bits_of_value) \
  SIMT_SHUFFLE(__shfl_xor_sync, int, bits_of_value)
// Of a number.
#define SIMT_ARITHMETIC(name, symbol)                               \
  friend SIMT_INLINE Self name(Self a, Self b) {                    \
    return Self::rounded(double(float(a)) symbol double(float(b))); \
  }                                                                 \
  friend SIMT_INLINE Self name##_rn(Self a, Self b) {               \
    return name(a, b);                                              \
  }                                                                 \
  friend SIMT_INLINE Self name##_sat(Self a, Self b) {              \
    return Self::saturated(name(a, b));                             \
  }                                                                 \
  SIMT_OPERATOR(symbol, name)
#define SIMT_FUNCTION(name, result)         \
  friend SIMT_INLINE Self h##name(Self a) { \
    const double x = float{a};              \
    return Self::rounded(result);           \
  }
#define SIMT_FUNCTIONS(X)      \
  X(sqrt, std::sqrt(x))        \
  X(rsqrt, 1 / std::sqrt(x))   \
  X(rcp, 1 / x)                \
  X(exp, std::exp(x))          \
  X(exp2, std::exp2(x))        \
  X(exp10, std::pow(10.0, x))  \
  X(log, std::log(x))          \
  X(log2, std::log2(x))        \
  X(log10, std::log10(x))      \
  X(sin, std::sin(x))          \
  X(cos, std::cos(x))          \
  X(tanh, std::tanh(x))        \
  X(tanh_approx, std::tanh(x)) \
  X(floor, std::floor(x))      \
  X(ceil, std::ceil(x))        \
  X(trunc, std::trunc(x))      \
  X(rint, std::nearbyint(x))
#define SIMT_CONVERSION(Integer, converted)     \
  SIMT_ALWAYS_INLINE operator Integer() const { \
    return converted(*this);                    \
  }
#define SIMT_STEP(step, symbol)                         \
  friend SIMT_INLINE Self& operator step(Self& a) {     \
    return a = a symbol Self(1);                        \
  }                                                     \
  friend SIMT_INLINE Self operator step(Self& a, int) { \
    const Self before = a;                              \
    a = before symbol Self(1);                          \
    return before;                                      \
  }
// Of a number and a NaN the number; the _nan variants give NaN. -0 is less than +0.
#define SIMT_EXTREME(name, symbol, signed_zero)                                        \
  friend SIMT_INLINE Self name##_nan(Self a, Self b) {                                 \
    if (__hisnan(a) || __hisnan(b)) return Self::of_bits(model::kNarrowNaN);           \
    const bool first = float{a} == float{b} ? ((a.bits & 0x8000u) != 0) == signed_zero \
                                            : float{a} symbol float{b};                \
    return first ? a : b;                                                              \
  }                                                                                    \
  friend SIMT_INLINE Self name(Self a, Self b) {                                       \
    return __hisnan(a) != __hisnan(b) ? (__hisnan(a) ? b : a) : name##_nan(a, b);      \
  }
#define SIMT_COMPARE(name, symbol)                                 \
  friend SIMT_INLINE bool __h##name(Self a, Self b) {              \
    return float{a} symbol float{b};                               \
  }                                                                \
  friend SIMT_INLINE bool __h##name##u(Self a, Self b) {           \
    return __hisnan(a) || __hisnan(b) || float{a} symbol float{b}; \
  }

template <class Self, model::NarrowFormat format>
struct NarrowFloat {
  static constexpr model::NarrowFormat kFormat = format;

  NarrowFloat() = default;
  SIMT_ALWAYS_INLINE NarrowFloat(const NarrowFloat& v) : bits(v.bits) {}
  SIMT_ALWAYS_INLINE NarrowFloat& operator=(const NarrowFloat& v) {
    bits = v.bits;
    return *this;
  }
  template <class V>
  requires(std::is_arithmetic_v<V>) SIMT_ALWAYS_INLINE NarrowFloat(V value)
      : bits(narrowed_number(value, format)) {}

  SIMT_ALWAYS_INLINE static Self of_bits(unsigned bits) {
    Self result;
    result.bits = static_cast<std::uint16_t>(bits);
    return result;
  }
  SIMT_ALWAYS_INLINE static Self rounded(double value) {
    return of_bits(model::narrowed(value, format));
  }
  SIMT_ALWAYS_INLINE operator float() const { return model::widened(bits, format); }
  SIMT_ALWAYS_INLINE operator bool() const { return (bits & 0x7fffu) != 0; }
  SIMT_CONVERSION(signed char, cut<signed char>)
  SIMT_CONVERSION(unsigned char, cut<unsigned char>)
  SIMT_CONVERSION(char, cut<char>)
  SIMT_CONVERSION(short, cut<short>)
  SIMT_CONVERSION(unsigned short, cut<unsigned short>)
  SIMT_CONVERSION(int, __float2int_rz)
  SIMT_CONVERSION(unsigned, __float2uint_rz)
  SIMT_CONVERSION(long, __float2ll_rz)
  SIMT_CONVERSION(unsigned long, __float2ull_rz)
  SIMT_CONVERSION(long long, __float2ll_rz)
  SIMT_CONVERSION(unsigned long long, __float2ull_rz)

  SIMT_ARITHMETIC(__hadd, +)
  SIMT_ARITHMETIC(__hsub, -)
  SIMT_ARITHMETIC(__hmul, *)
  SIMT_ARITHMETIC(__hdiv, /)
  friend SIMT_INLINE Self __hfma(Self a, Self b, Self c) {
    return Self::of_bits(model::narrowed_fma(a.bits, b.bits, c.bits, format));
  }
  friend SIMT_INLINE Self __hfma_sat(Self a, Self b, Self c) {
    return Self::saturated(__hfma(a, b, c));
  }
  friend SIMT_INLINE Self __hfma_relu(Self a, Self b, Self c) {
    const Self result = __hfma(a, b, c);
    return float{result} < 0 ? Self::of_bits(0) : result;
  }
  friend SIMT_INLINE Self __hneg(Self a) {
    return Self::of_bits(__hisnan(a) ? model::kNarrowNaN : a.bits ^ 0x8000u);
  }
  friend SIMT_INLINE Self __habs(Self a) {
    return Self::of_bits(__hisnan(a) ? model::kNarrowNaN : a.bits & 0x7fffu);
  }
  friend SIMT_INLINE Self operator+(Self a) { return a; }
  friend SIMT_INLINE Self operator-(Self a) { return __hneg(a); }
  SIMT_STEP(++, +)
  SIMT_STEP(--, -)

  friend SIMT_INLINE bool __hisnan(Self a) { return std::isnan(float{a}); }
  // -1 and 1 for the two infinities.
  friend SIMT_INLINE int __hisinf(Self a) {
    return std::isinf(float{a}) ? (float{a} < 0 ? -1 : 1) : 0;
  }
  // The u variants are true if a number is a NaN; the others are false.
  SIMT_COMPARE(eq, ==)
  SIMT_COMPARE(lt, <)
  SIMT_COMPARE(le, <=)
  SIMT_COMPARE(gt, >)
  SIMT_COMPARE(ge, >=)
  friend SIMT_INLINE bool __hneu(Self a, Self b) { return float{a} != float{b}; }
  friend SIMT_INLINE bool __hne(Self a, Self b) { return !__hequ(a, b); }
  friend SIMT_INLINE bool operator==(Self a, Self b) { return __heq(a, b); }
  friend SIMT_INLINE bool operator!=(Self a, Self b) { return __hneu(a, b); }
  friend SIMT_INLINE bool operator<(Self a, Self b) { return __hlt(a, b); }
  friend SIMT_INLINE bool operator<=(Self a, Self b) { return __hle(a, b); }
  friend SIMT_INLINE bool operator>(Self a, Self b) { return __hgt(a, b); }
  friend SIMT_INLINE bool operator>=(Self a, Self b) { return __hge(a, b); }
  SIMT_EXTREME(__hmax, >, false)
  SIMT_EXTREME(__hmin, <, true)
  SIMT_FUNCTIONS(SIMT_FUNCTION)

  SIMT_SHUFFLES(static_cast<unsigned>(value.bits))
  friend SIMT_INLINE Self atomicAdd(Self* address, Self value) {
    return Self::of_bits(simt::atomic_add(&address->bits, value.bits, format));
  }

  std::uint16_t bits;

 private:
  // Within 0 and 1; a NaN is 0.
  SIMT_ALWAYS_INLINE static Self saturated(Self a) {
    return float{a} > 1 ? Self(1) : float{a} > 0 ? a : of_bits(0);
  }
};

// Of a pair.
#define SIMT_UNARY(name, of)             \
  friend SIMT_INLINE Self name(Self a) { \
    return {of(a.x), of(a.y)};           \
  }
#define SIMT_BINARY(name, of)                    \
  friend SIMT_INLINE Self name(Self a, Self b) { \
    return {of(a.x, b.x), of(a.y, b.y)};         \
  }
#define SIMT_ARITHMETIC_OF_PAIRS(name, symbol)   \
  SIMT_BINARY(__h##name##2, __h##name)           \
  SIMT_BINARY(__h##name##2_rn, __h##name)        \
  SIMT_BINARY(__h##name##2_sat, __h##name##_sat) \
  SIMT_OPERATOR(symbol, __h##name##2)
#define SIMT_FUNCTION_OF_PAIRS(name, result) SIMT_UNARY(h2##name, h##name)
#define SIMT_FMA(name, of)                               \
  friend SIMT_INLINE Self name(Self a, Self b, Self c) { \
    return {of(a.x, b.x, c.x), of(a.y, b.y, c.y)};       \
  }
#define SIMT_COMPARE_PAIRS(name)                                                          \
  friend SIMT_INLINE Self __h##name##2(Self a, Self b) {                                  \
    return {T(int{__h##name(a.x, b.x)}), T(int{__h##name(a.y, b.y)})};                    \
  }                                                                                       \
  friend SIMT_INLINE bool __hb##name##2(Self a, Self b) {                                 \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                    \
  }                                                                                       \
  friend SIMT_INLINE unsigned __h##name##2_mask(Self a, Self b) {                         \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0); \
  }

template <class Self, class T>
struct alignas(4) NarrowPair {
  T x, y;

  NarrowPair() = default;
  SIMT_ALWAYS_INLINE NarrowPair(const T& x_, const T& y_) : x(x_), y(y_) {}
  SIMT_COPIED_AS_ONE(NarrowPair, 4)
  SIMT_ALWAYS_INLINE static Self of_bits(unsigned both) {
    return {T::of_bits(both), T::of_bits(both >> 16)};
  }

  SIMT_ARITHMETIC_OF_PAIRS(add, +)
  SIMT_ARITHMETIC_OF_PAIRS(sub, -)
  SIMT_ARITHMETIC_OF_PAIRS(mul, *)
  SIMT_BINARY(__h2div, __hdiv)
  SIMT_OPERATOR(/, __h2div)
  SIMT_BINARY(__hmax2, __hmax)
  SIMT_BINARY(__hmin2, __hmin)
  SIMT_BINARY(__hmax2_nan, __hmax_nan)
  SIMT_BINARY(__hmin2_nan, __hmin_nan)
  SIMT_FMA(__hfma2, __hfma)
  SIMT_FMA(__hfma2_sat, __hfma_sat)
  SIMT_FMA(__hfma2_relu, __hfma_relu)
  // A product and a sum of complex numbers.
  friend SIMT_INLINE Self __hcmadd(Self a, Self b, Self c) {
    return {
        __hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
  }

  SIMT_UNARY(__hneg2, __hneg)
  SIMT_UNARY(__habs2, __habs)
  SIMT_UNARY(operator-, __hneg)
  SIMT_FUNCTIONS(SIMT_FUNCTION_OF_PAIRS)

  // 1 or 0 for each; the b variants: whether it holds for both; the masks: all bits or none.
  SIMT_COMPARE_PAIRS(eq)
  SIMT_COMPARE_PAIRS(ne)
  SIMT_COMPARE_PAIRS(lt)
  SIMT_COMPARE_PAIRS(le)
  SIMT_COMPARE_PAIRS(gt)
  SIMT_COMPARE_PAIRS(ge)
  SIMT_COMPARE_PAIRS(equ)
  SIMT_COMPARE_PAIRS(neu)
  SIMT_COMPARE_PAIRS(ltu)
  SIMT_COMPARE_PAIRS(leu)
  SIMT_COMPARE_PAIRS(gtu)
  SIMT_COMPARE_PAIRS(geu)
  friend SIMT_INLINE Self __hisnan2(Self a) {
    return {T(int{__hisnan(a.x)}), T(int{__hisnan(a.y)})};
  }
  friend SIMT_INLINE bool operator==(Self a, Self b) { return __hbeq2(a, b); }
  friend SIMT_INLINE bool operator!=(Self a, Self b) { return __hbneu2(a, b); }
  friend SIMT_INLINE bool operator<(Self a, Self b) { return __hblt2(a, b); }
  friend SIMT_INLINE bool operator<=(Self a, Self b) { return __hble2(a, b); }
  friend SIMT_INLINE bool operator>(Self a, Self b) { return __hbgt2(a, b); }
  friend SIMT_INLINE bool operator>=(Self a, Self b) { return __hbge2(a, b); }

  SIMT_SHUFFLES(simt::bits_of(value))
  // On the GPU, too, the two sums are atomic each, not together.
  friend SIMT_INLINE Self atomicAdd(Self* address, Self value) {
    return Self::of_bits(simt::atomic_add(
        reinterpret_cast<std::uint32_t*>(address), simt::bits_of(value), T::kFormat));
  }
};

#undef SIMT_OPERATOR
#undef SIMT_ARITHMETIC
#undef SIMT_COMPARE
#undef SIMT_FUNCTION
#undef SIMT_FUNCTIONS
#undef SIMT_CONVERSION
#undef SIMT_STEP
#undef SIMT_EXTREME
#undef SIMT_ARITHMETIC_OF_PAIRS
#undef SIMT_FUNCTION_OF_PAIRS
#undef SIMT_SHUFFLE
#undef SIMT_SHUFFLES
#undef SIMT_UNARY
#undef SIMT_BINARY
#undef SIMT_FMA
#undef SIMT_COMPARE_PAIRS

}  // namespace simt

// The functions that have the type's name in their own.
#define SIMT_NARROW_FROM(T, function, From)                                          \
  SIMT_INLINE T function##_rn(From a) {                                              \
    return T(a);                                                                     \
  }                                                                                  \
  SIMT_INLINE T function##_rz(From a) {                                              \
    return T::of_bits(model::narrowed(double(a), T::kFormat, model::Toward::zero));  \
  }                                                                                  \
  SIMT_INLINE T function##_ru(From a) {                                              \
    return T::of_bits(model::narrowed(double(a), T::kFormat, model::Toward::above)); \
  }                                                                                  \
  SIMT_INLINE T function##_rd(From a) {                                              \
    return T::of_bits(model::narrowed(double(a), T::kFormat, model::Toward::below)); \
  }
#define SIMT_NARROW_TO_INTEGER(T, name, integer, Integer, to_int, rounding) \
  SIMT_INLINE Integer __##name##2##integer##_##rounding(T a) {              \
    const auto whole = __float2##to_int##_##rounding(float{a});             \
    if constexpr (sizeof(Integer) < 4) {                                    \
      return simt::clamped<Integer>(whole);                                 \
    } else {                                                                \
      return whole;                                                         \
    }                                                                       \
  }
#define SIMT_NARROW_INTEGER(T, name, integer, Integer, to_int)  \
  SIMT_NARROW_FROM(T, __##integer##2##name, Integer)            \
  SIMT_NARROW_TO_INTEGER(T, name, integer, Integer, to_int, rn) \
  SIMT_NARROW_TO_INTEGER(T, name, integer, Integer, to_int, rz) \
  SIMT_NARROW_TO_INTEGER(T, name, integer, Integer, to_int, ru) \
  SIMT_NARROW_TO_INTEGER(T, name, integer, Integer, to_int, rd)
// clang-format off
#define SIMT_NARROW_NAMES(T, Pair, name)                                                           \
  SIMT_INLINE float __##name##2float(T a) { return a; }                                            \
  SIMT_INLINE T __float2##name(float a) { return T(a); }                                           \
  SIMT_INLINE T __double2##name(double a) { return T(a); }                                         \
  SIMT_NARROW_FROM(T, __float2##name, float)                                                       \
  SIMT_NARROW_INTEGER(T, name, short, short, int)                                                  \
  SIMT_NARROW_INTEGER(T, name, ushort, unsigned short, int)                                        \
  SIMT_NARROW_INTEGER(T, name, int, int, int)                                                      \
  SIMT_NARROW_INTEGER(T, name, uint, unsigned, uint)                                               \
  SIMT_NARROW_INTEGER(T, name, ll, long long, ll)                                                  \
  SIMT_NARROW_INTEGER(T, name, ull, unsigned long long, ull)                                       \
  SIMT_NARROW_TO_INTEGER(T, name, char, signed char, int, rz)                                      \
  SIMT_NARROW_TO_INTEGER(T, name, uchar, unsigned char, int, rz)                                   \
  SIMT_INLINE short __##name##_as_short(T a) { return static_cast<short>(a.bits); }                \
  SIMT_INLINE unsigned short __##name##_as_ushort(T a) { return a.bits; }                          \
  SIMT_INLINE T __short_as_##name(short a) { return T::of_bits(static_cast<unsigned short>(a)); }  \
  SIMT_INLINE T __ushort_as_##name(unsigned short a) { return T::of_bits(a); }                     \
  SIMT_INLINE Pair make_##name##2(T x, T y) { return {x, y}; }                                     \
  SIMT_INLINE Pair __halves2##name##2(T x, T y) { return {x, y}; }                                 \
  SIMT_INLINE Pair __##name##2##name##2(T a) { return {a, a}; }                                    \
  SIMT_INLINE Pair __float2##name##2_rn(float a) { return {T(a), T(a)}; }                          \
  SIMT_INLINE Pair __floats2##name##2_rn(float x, float y) { return {T(x), T(y)}; }                \
  SIMT_INLINE Pair __float22##name##2_rn(float2 a) { return {T(a.x), T(a.y)}; }                    \
  SIMT_INLINE float2 __##name##22float2(Pair a) { return {float{a.x}, float{a.y}}; }               \
  SIMT_INLINE float __low2float(Pair a) { return a.x; }                                            \
  SIMT_INLINE float __high2float(Pair a) { return a.y; }                                           \
  SIMT_INLINE T __low2##name(Pair a) { return a.x; }                                               \
  SIMT_INLINE T __high2##name(Pair a) { return a.y; }                                              \
  SIMT_INLINE Pair __low2##name##2(Pair a) { return {a.x, a.x}; }                                  \
  SIMT_INLINE Pair __high2##name##2(Pair a) { return {a.y, a.y}; }                                 \
  SIMT_INLINE Pair __lows2##name##2(Pair a, Pair b) { return {a.x, b.x}; }                         \
  SIMT_INLINE Pair __highs2##name##2(Pair a, Pair b) { return {a.y, b.y}; }                        \
  SIMT_INLINE Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }
// clang-format on

// A class needs its own copy functions: an implicit one would be a call, which is not announced.
#define SIMT_COPIED_BY_BASE(Self, Base)               \
  Self() = default;                                   \
  SIMT_ALWAYS_INLINE Self(const Self& v) : Base(v) {} \
  SIMT_ALWAYS_INLINE Self& operator=(const Self& v) { \
    Base::operator=(v);                               \
    return *this;                                     \
  }                                                   \
  using Base::Base;

// Such a number, a pair of them, and CUDA's other names for both.
#define SIMT_NARROW_TYPES(T, Pair, name, format)                                \
  struct T##_raw {                                                              \
    unsigned short x;                                                           \
  };                                                                            \
  struct Pair##_raw {                                                           \
    unsigned short x, y;                                                        \
  };                                                                            \
  struct T : simt::NarrowFloat<T, format> {                                     \
    SIMT_COPIED_BY_BASE(T, NarrowFloat)                                         \
    SIMT_ALWAYS_INLINE T(const T##_raw& raw) { bits = raw.x; }                  \
    SIMT_ALWAYS_INLINE operator T##_raw() const { return {bits}; }              \
  };                                                                            \
  struct Pair : simt::NarrowPair<Pair, T> {                                     \
    SIMT_COPIED_BY_BASE(Pair, NarrowPair)                                       \
    SIMT_ALWAYS_INLINE Pair(const Pair##_raw& raw)                              \
        : NarrowPair(T::of_bits(raw.x), T::of_bits(raw.y)) {}                   \
    SIMT_ALWAYS_INLINE operator Pair##_raw() const { return {x.bits, y.bits}; } \
  };                                                                            \
  SIMT_NARROW_NAMES(T, Pair, name)
