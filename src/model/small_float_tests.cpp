#include "model/small_float.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>

namespace model {

TEST_CASE("every number of 16 bits is its own rounding") {
  for (const FloatFormat format : {kF16Format, kBf16Format}) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = value_of(format, bits);
      if (std::isnan(value)) continue;
      for (const Rounding rounding : {Rounding::to_nearest, Rounding::to_zero, Rounding::up}) {
        if (rounded_to(format, value, rounding) != bits) FAIL_CHECK("bits ", bits);
      }
    }
  }
}

TEST_CASE("a number between two of 16 bits goes to the one that the rounding says") {
  CHECK(value_of(kF16Format, 0x3c00) == 1.0);
  CHECK(value_of(kF16Format, 0x7bff) == 65504.0);
  CHECK(value_of(kBf16Format, 0x3f80) == 1.0);
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
    CHECK(rounded_to(kF16Format, one.value, Rounding::to_nearest) == one.nearest);
    CHECK(rounded_to(kF16Format, one.value, Rounding::to_nearest_away) == one.away);
    CHECK(rounded_to(kF16Format, one.value, Rounding::to_zero) == one.zero);
    CHECK(rounded_to(kF16Format, one.value, Rounding::up) == one.up);
    CHECK(rounded_to(kF16Format, one.value, Rounding::down) == one.down);
  }
}

TEST_CASE("rounding a float to bf16 is an integer addition") {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const std::uint32_t expected = (bits + 0x7fff + (bits >> 16 & 1u)) >> 16;
    CHECK(rounded_to(kBf16Format, value, Rounding::to_nearest) == expected);
  }
}

}  // namespace model
