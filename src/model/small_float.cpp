#include "model/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace model {

double rounded_to_integer(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::to_zero:
      return std::trunc(value);
    case Rounding::up:
      return std::ceil(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::to_nearest_away:
      return std::round(value);
    case Rounding::to_nearest:
      break;
  }
  const double below = std::floor(value), rest = value - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

std::uint32_t rounded_to(FloatFormat format, double value, Rounding rounding) {
  const std::uint32_t one = 1u << format.fraction_bits;
  const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  if (std::isnan(value)) return infinity | (one - 1);
  const bool negative = std::signbit(value);
  const std::uint32_t sign = std::uint32_t{negative}
                             << (format.exponent_bits + format.fraction_bits);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;

  const int smallest = 2 - (1 << (format.exponent_bits - 1));
  const int exponent = std::max(std::ilogb(value), smallest);
  const double steps =
      std::fabs(rounded_to_integer(std::ldexp(value, format.fraction_bits - exponent), rounding));
  // A subnormal number has the exponent of the smallest normal one, but no leading 1. A carry goes
  // to the next exponent.
  const double bits = steps + std::ldexp(exponent - smallest, format.fraction_bits);
  if (bits < infinity) return sign | static_cast<std::uint32_t>(bits);
  const bool stays_finite =
      rounding == Rounding::to_zero || rounding == (negative ? Rounding::up : Rounding::down);
  return sign | (stays_finite ? infinity - 1 : infinity);
}

double value_of(FloatFormat format, std::uint32_t bits) {
  const std::uint32_t one = 1u << format.fraction_bits;
  const std::uint32_t most = (1u << format.exponent_bits) - 1;
  const std::uint32_t fraction = bits & (one - 1), field = bits >> format.fraction_bits & most;
  const bool negative = (bits >> (format.exponent_bits + format.fraction_bits) & 1u) != 0;
  double magnitude = 0;
  if (field == most) {
    magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity();
  } else {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const int exponent = (field == 0 ? 1 : static_cast<int>(field)) - bias;
    magnitude = std::ldexp(field == 0 ? fraction : fraction | one, exponent - format.fraction_bits);
  }
  return negative ? -magnitude : magnitude;
}

}  // namespace model
