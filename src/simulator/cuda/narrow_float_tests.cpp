#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>

#include "simulator/cuda/headers/cuda_bf16.h"
#include "simulator/cuda/headers/cuda_fp16.h"

namespace simt {
namespace {

static_assert(sizeof(__half) == 2 && alignof(__half) == 2);
static_assert(sizeof(__half2) == 4 && alignof(__half2) == 4);
static_assert(sizeof(__nv_bfloat16) == 2 && sizeof(__nv_bfloat162) == 4);

// By another way than ours: the upper half of a float, after adding what rounds it.
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// How often the two disagree. All NaNs are equal.
template <class T, class Theirs>
int differences(T ours, Theirs theirs) {
  const bool nan = (ours.bits & 0x7fffu) > (std::is_same_v<T, __half> ? 0x7c00u : 0x7f80u);
  if (std::isnan(static_cast<float>(theirs))) return nan ? 0 : 1;
  if constexpr (std::is_same_v<Theirs, float>) {
    return ours.bits != to_bf16(theirs);
  } else {
    return ours.bits != std::bit_cast<std::uint16_t>(theirs);
  }
}

}  // namespace

#ifdef __FLT16_MAX__
TEST_CASE("arithmetic and comparisons of __half equal the compiler's _Float16") {
  std::mt19937 random(1);
  int wrong = 0;
  for (int i = 0; i < 400000; ++i) {
    const auto a = static_cast<std::uint16_t>(random()), b = static_cast<std::uint16_t>(random());
    const auto x = std::bit_cast<_Float16>(a), y = std::bit_cast<_Float16>(b);
    const __half p = __ushort_as_half(a), q = __ushort_as_half(b);
    wrong += differences(p + q, static_cast<_Float16>(x + y));
    wrong += differences(p - q, static_cast<_Float16>(x - y));
    wrong += differences(p * q, static_cast<_Float16>(x * y));
    wrong += differences(p / q, static_cast<_Float16>(x / y));
    wrong += differences(hsqrt(p), static_cast<_Float16>(std::sqrt(static_cast<float>(x))));
    wrong += (p < q) != (x < y);
    wrong += (p <= q) != (x <= y);
    wrong += (p == q) != (x == y);
    wrong += (p != q) != (x != y);
    wrong += __hltu(p, q) == (x >= y);
    const __half2 pair = __halves2half2(p, q), swapped = __lowhigh2highlow(pair);
    const __half2 sum = __hadd2(pair, swapped);
    wrong += differences(sum.x, static_cast<_Float16>(x + y));
    wrong += differences(__high2half(__hmul2(pair, swapped)), static_cast<_Float16>(y * x));
  }
  CHECK(wrong == 0);
}
#endif

TEST_CASE("arithmetic of __nv_bfloat16 is that of floats, rounded") {
  std::mt19937 random(2);
  int wrong = 0;
  for (int i = 0; i < 400000; ++i) {
    const auto a = static_cast<std::uint16_t>(random()), b = static_cast<std::uint16_t>(random());
    const float x = from_bf16(a), y = from_bf16(b);
    const __nv_bfloat16 p = __ushort_as_bfloat16(a), q = __ushort_as_bfloat16(b);
    wrong += differences(p + q, x + y);
    wrong += differences(p - q, x - y);
    wrong += differences(p * q, x * y);
    wrong += differences(p / q, x / y);
    wrong += (p > q) != (x > y);
  }
  CHECK(wrong == 0);
}

TEST_CASE("the constructors of __half round once") {
  // A float keeps 24 bits: from this double it would round to the middle first, and then to even.
  const double above_middle = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  CHECK(__half(above_middle).bits == 0x3c01);
  CHECK(__half(static_cast<float>(above_middle)).bits == 0x3c00);
  CHECK(__half(2049).bits == __half(2048).bits);
  CHECK(float{__half(2051)} == 2052);
  CHECK(float{__nv_bfloat16((1ll << 62) + (1ll << 54) + 1)} == std::ldexp(1.0f + 1.0f / 128, 62));
  CHECK(std::isinf(float{__half(65520.0f)}));
  CHECK(float{__half(65519.996f)} == 65504);
}

TEST_CASE("__half becomes an integer as on the GPU: cut, clamped, and 0 for a NaN") {
  CHECK(int{__half(-2.75f)} == -2);
  CHECK(__half2int_rn(__half(2.5f)) == 2);
  CHECK(__half2int_ru(__half(2.25f)) == 3);
  CHECK(__half2int_rd(__half(-2.25f)) == -3);
  CHECK(__half2short_rz(CUDART_INF_FP16) == 32767);
  CHECK(__half2uint_rz(__half(-1.0f)) == 0);
  CHECK(__half2uchar_rz(__half(300)) == 255);
  CHECK(int{CUDART_NAN_FP16} == 0);
  CHECK(__int2half_rz(2051).bits == __half(2050).bits);
  CHECK(__uint2half_ru(2049).bits == __half(2050).bits);
}

TEST_CASE("the special cases of fp16: saturation, maximum, NaN and signs") {
  const __half nan = CUDART_NAN_FP16, one(1), two(2), minus_zero = CUDART_NEG_ZERO_FP16;
  CHECK(__hadd_sat(one, two).bits == one.bits);
  CHECK(__hsub_sat(one, two).bits == 0);
  CHECK(__hadd_sat(nan, one).bits == 0);
  CHECK(__hfma_relu(one, -two, one).bits == 0);
  CHECK(__hmax(nan, one).bits == one.bits);
  CHECK(__hmax_nan(nan, one).bits == nan.bits);
  CHECK(__hmax(nan, nan).bits == nan.bits);
  CHECK(__hmin(minus_zero, __half(0)).bits == minus_zero.bits);
  CHECK(__hmax(minus_zero, __half(0)).bits == 0);
  CHECK(__hisinf(-CUDART_INF_FP16) == -1);
  CHECK(__hneg(__ushort_as_half(0x7d00)).bits == nan.bits);
  CHECK(__habs(__ushort_as_half(0xfd00)).bits == nan.bits);
  CHECK(__habs(minus_zero).bits == 0);
  CHECK(!__hne(nan, one));
  CHECK(__hneu(nan, one));
  CHECK(__heq2_mask(__half2(one, two), __half2(one, one)) == 0xffffu);
  CHECK(__hbgt2(__half2(two, two), __half2(one, one)));
  __half counter = one;
  CHECK((counter++).bits == one.bits);
  CHECK(counter.bits == two.bits);
  // (1 + 2i) * (3 + 4i) + (1 + i)
  const __half2 sum = __hcmadd(__half2(1, 2), __half2(3, 4), __half2(1, 1));
  CHECK(float{sum.x} == -4);
  CHECK(float{sum.y} == 11);
}

}  // namespace simt
