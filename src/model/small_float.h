// Floating-point numbers of 16 bits, and how a number is rounded to one of them, or to tf32.
#pragma once

#include <cstdint>

namespace model {

// The bits of a format: sign, exponent, fraction; with subnormal numbers, infinities and NaNs.
struct FloatFormat {
  int exponent_bits, fraction_bits;
};
inline constexpr FloatFormat kF16Format{5, 10};
inline constexpr FloatFormat kBf16Format{8, 7};
inline constexpr FloatFormat kTf32Format{8, 10};  // in the first 19 bits of a float

// Of two neighbours that are equally near, to_nearest takes the even one and to_nearest_away the
// one that is farther from zero.
enum class Rounding { to_nearest, to_nearest_away, to_zero, up, down };

// The number's bits in that format. A NaN has no sign, and all bits of its fraction set.
std::uint32_t rounded_to(FloatFormat format, double value, Rounding rounding);

double value_of(FloatFormat format, std::uint32_t bits);

// `value` as an integer.
double rounded_to_integer(double value, Rounding rounding);

}  // namespace model
