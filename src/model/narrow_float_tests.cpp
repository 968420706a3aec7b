#include "model/narrow_float.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace model {
namespace {

constexpr std::uint32_t kAll = 1u << 16;

// By definition: sign, exponent and fraction of the number, as a sum of powers of two.
double value_of(std::uint16_t bits, NarrowFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int field = bits >> format.fraction_bits & ((1 << format.exponent_bits) - 1);
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const double one = field == 0 ? 0 : 1 << format.fraction_bits;
  const double magnitude =
      std::ldexp(one + fraction, std::max(field, 1) - bias - format.fraction_bits);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

bool is_finite(std::uint16_t bits, NarrowFormat format) {
  return (bits & 0x7fffu) < ((1u << format.exponent_bits) - 1) << format.fraction_bits;
}

// Found by bisection over all numbers that are not negative, which their bits order.
std::uint16_t nearest(double magnitude, NarrowFormat format) {
  std::uint16_t below = 0;
  for (int step = 1 << 14; step != 0; step /= 2) {
    const auto next = static_cast<std::uint16_t>(below + step);
    if (is_finite(next, format) && value_of(next, format) <= magnitude) below = next;
  }
  const double low = value_of(below, format);
  // What follows the largest number lies as far above it as the number before lies below.
  const double high = is_finite(below + 1, format) ? value_of(below + 1, format)
                                                   : 2 * low - value_of(below - 1, format);
  const double middle = low + (high - low) / 2;
  const bool up = magnitude > middle || (magnitude == middle && below % 2 != 0);
  return below + up;
}

}  // namespace

TEST_CASE("every number of 16 bits survives the way to float and back") {
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    CAPTURE(format.fraction_bits);
    int wrong = 0;
    for (std::uint32_t i = 0; i < kAll; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const float wide = widened(bits, format);
      if (std::isnan(wide)) {
        wrong += is_finite(bits, format) || narrowed(wide, format) != kNarrowNaN;
        continue;
      }
      wrong += narrowed(wide, format) != bits;
      if (is_finite(bits, format)) wrong += wide != value_of(bits, format);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("rounding to 16 bits takes the nearest number, and the even one of two") {
  std::mt19937_64 random(1);
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    CAPTURE(format.fraction_bits);
    int wrong = 0;
    const auto check = [&](double value) {
      if (!std::isfinite(value)) return;
      const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
      wrong += narrowed(value, format) != (sign | nearest(std::abs(value), format));
    };
    for (int i = 0; i < 300000; ++i) {
      check(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
      check(std::bit_cast<double>(random()));
    }
    // On, just below and just above the middle between two neighbours.
    for (std::uint16_t bits = 0; is_finite(bits, format); ++bits) {
      const double middle = value_of(bits, format) / 2 + value_of(bits + 1, format) / 2;
      for (const double value :
           {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e300)}) {
        check(value);
        check(-value);
      }
    }
    CHECK(wrong == 0);
  }
}

#ifdef __FLT16_MAX__
TEST_CASE("float to fp16 equals the compiler's conversion for a million random floats") {
  std::mt19937 random(2);
  int wrong = 0;
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    const auto theirs = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    wrong += narrowed(value, kFp16) != theirs;
  }
  CHECK(wrong == 0);
}
#endif

TEST_CASE("directed rounding to 16 bits") {
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    CAPTURE(format.fraction_bits);
    int wrong = 0;
    for (std::uint16_t bits = 0; is_finite(bits + 1, format); ++bits) {
      const double above = std::nextafter(value_of(bits, format), 1e300);
      const auto next = static_cast<std::uint16_t>(bits + 1);
      wrong += narrowed(above, format, Toward::zero) != bits;
      wrong += narrowed(above, format, Toward::below) != bits;
      wrong += narrowed(above, format, Toward::above) != next;
      wrong += narrowed(-above, format, Toward::zero) != (bits | 0x8000);
      wrong += narrowed(-above, format, Toward::above) != (bits | 0x8000);
      wrong += narrowed(-above, format, Toward::below) != (next | 0x8000);
    }
    CHECK(wrong == 0);
    const std::uint16_t infinity = narrowed(std::numeric_limits<double>::infinity(), format);
    CHECK(narrowed(1e300, format) == infinity);
    CHECK(narrowed(1e300, format, Toward::zero) == infinity - 1);
    CHECK(narrowed(-1e300, format, Toward::above) == ((infinity - 1) | 0x8000));
    CHECK(narrowed(-1e300, format, Toward::below) == (infinity | 0x8000));
  }
}

// In integers: a * b and c in units of the smallest bit of a product.
TEST_CASE("a fused multiply-add of fp16 rounds once") {
  std::mt19937 random(3);
  int wrong = 0, decided_by_c = 0;
  for (int i = 0; i < 300000; ++i) {
    const auto any = [&] { return static_cast<std::uint16_t>(random()); };
    const std::uint16_t a = any(), b = any();
    std::uint16_t c = any();
    // Half the time c is tiny beside the product.
    if (i % 2 == 0) c &= 0x83ff;
    if (!is_finite(a, kFp16) || !is_finite(b, kFp16) || !is_finite(c, kFp16)) continue;
    const auto in_units = [](std::uint16_t x) {
      return static_cast<__int128>(std::ldexp(value_of(x, kFp16), 24));
    };
    const __int128 sum = in_units(a) * in_units(b) + (in_units(c) << 24);
    if (sum == 0) continue;
    const __int128 magnitude = sum < 0 ? -sum : sum;
    // Exact in 128 bits; a long double would do as well, where it has 64.
    std::uint16_t expected = 0;
    for (int step = 1 << 14; step != 0; step /= 2) {
      const auto next = static_cast<std::uint16_t>(expected + step);
      if (is_finite(next, kFp16) && in_units(next) << 24 <= magnitude) expected = next;
    }
    const __int128 low = in_units(expected) << 24;
    const __int128 high = is_finite(expected + 1, kFp16) ? in_units(expected + 1) << 24
                                                         : 2 * low - (in_units(expected - 1) << 24);
    const __int128 beyond = 2 * magnitude - (low + high);
    expected += beyond > 0 || (beyond == 0 && expected % 2 != 0);
    if (sum < 0) expected |= 0x8000;
    wrong += narrowed_fma(a, b, c, kFp16) != expected;
    decided_by_c += narrowed_fma(a, b, 0, kFp16) != expected;
  }
  CHECK(wrong == 0);
  CHECK(decided_by_c > 1000);
}

TEST_CASE("a fused multiply-add of bf16 sees what a double would lose") {
  // (1 + 2^-7)^2 * 2^k ... the product lies in the middle between two numbers, and c decides.
  const auto bits = [](double value) { return narrowed(value, kBfloat16); };
  const double a = 1.5, b = 1.0 + 1.0 / 128;  // 1.51171875: between 1.5078125 and 1.515625
  const double product = a * b;
  REQUIRE(product == (1.5078125 + 1.515625) / 2);
  const std::uint16_t up = narrowed_fma(bits(a), bits(b), bits(1e-30), kBfloat16);
  const std::uint16_t down = narrowed_fma(bits(a), bits(b), bits(-1e-30), kBfloat16);
  CHECK(widened(up, kBfloat16) == 1.515625f);
  CHECK(widened(down, kBfloat16) == 1.5078125f);
}

TEST_CASE("every number of 16 bits is its own rounding") {
  for (const NarrowFormat format : {kFp16, kBfloat16}) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = widened(bits, format);
      if (std::isnan(value)) continue;
      for (const Toward rounding : {Toward::nearest, Toward::zero, Toward::above}) {
        if (rounded_to(format, value, rounding) != bits) FAIL_CHECK("bits ", bits);
      }
    }
  }
}

TEST_CASE("a number between two of 16 bits goes to the one that the rounding says") {
  CHECK(widened(0x3c00, kFp16) == 1.0);
  CHECK(widened(0x7bff, kFp16) == 65504.0);
  CHECK(widened(0x3f80, kBfloat16) == 1.0);
  const double step = std::ldexp(1, -10);
  struct {
    double value;
    std::uint32_t nearest, away, zero, up, down;
  } const cases[] = {
      {1 + step / 2, 0x3c00, 0x3c01, 0x3c00, 0x3c01, 0x3c00},
      {1 + step * 3 / 2, 0x3c02, 0x3c02, 0x3c01, 0x3c02, 0x3c01},
      {-1 - step / 4, 0xbc00, 0xbc00, 0xbc00, 0xbc00, 0xbc01},
      {65520, 0x7c00, 0x7c00, 0x7bff, 0x7c00, 0x7bff},
      {-1e9, 0xfc00, 0xfc00, 0xfbff, 0xfbff, 0xfc00},
      {std::ldexp(1, -25), 0, 1, 0, 1, 0}};
  for (const auto& one : cases) {
    CAPTURE(one.value);
    CHECK(rounded_to(kFp16, one.value, Toward::nearest) == one.nearest);
    CHECK(rounded_to(kFp16, one.value, Toward::nearest_away) == one.away);
    CHECK(rounded_to(kFp16, one.value, Toward::zero) == one.zero);
    CHECK(rounded_to(kFp16, one.value, Toward::above) == one.up);
    CHECK(rounded_to(kFp16, one.value, Toward::below) == one.down);
  }
}

TEST_CASE("two tf32 numbers hold a float up to 2^-22 of it") {
  std::mt19937 random(4);
  double most_low = 0, most_left = 0;
  for (int i = 0; i < 100000; ++i) {
    // Exponents for which the rest of a float is a normal number.
    const auto bits = static_cast<std::uint32_t>(random() % 0x72800000u + 0x0c800000u);
    const auto x = std::bit_cast<float>(random() % 2 != 0 ? bits : bits | 0x80000000u);
    const auto [high, low] = split_into_tf32(x);
    for (const float part : {high, low}) CHECK((std::bit_cast<std::uint32_t>(part) & 0x1fffu) == 0);
    most_low = std::max(most_low, std::fabs(low / double{x}));
    most_left = std::max(most_left, std::fabs((double{x} - high - low) / x));
  }
  CHECK(most_low <= 0x1p-10);
  CHECK(most_low > 0x1p-11);
  CHECK(most_left <= 0x1p-22);
  CHECK(most_left > 0x1p-23);
}

TEST_CASE("rounding a float to bf16 is an integer addition") {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const std::uint32_t expected = (bits + 0x7fff + (bits >> 16 & 1u)) >> 16;
    CHECK(rounded_to(kBfloat16, value, Toward::nearest) == expected);
  }
}

}  // namespace model
