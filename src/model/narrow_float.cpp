#include "model/narrow_float.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace model {
namespace {

constexpr int kDoublePlaces = 52, kDoubleBias = 1023;
constexpr int kFloatPlaces = 23, kFloatBias = 127;
constexpr std::uint32_t kFloatNaN = 0x7fffffffu, kFloatInfinity = 0x7f800000u;

int bias_of(NarrowFormat format) {
  return (1 << (format.exponent_bits - 1)) - 1;
}

// `significand` / 2^cut, as an integer.
std::uint64_t cut(std::uint64_t significand, int cut, bool negative, Toward toward) {
  // A normal double has 53 bits: of more than 60 places that are cut, it is less than half.
  constexpr int kMostCut = 60;
  cut = std::min(cut, kMostCut);
  const std::uint64_t kept = significand >> cut, rest = significand - (kept << cut);
  const std::uint64_t half = std::uint64_t{1} << (cut - 1);
  bool up = false;
  switch (toward) {
    case Toward::nearest:
      up = rest > half || (rest == half && kept % 2 != 0);
      break;
    case Toward::nearest_away:
      up = rest >= half;
      break;
    case Toward::zero:
      break;
    case Toward::above:
      up = rest != 0 && !negative;
      break;
    case Toward::below:
      up = rest != 0 && negative;
      break;
  }
  return kept + up;
}

}  // namespace

std::uint32_t rounded_to(NarrowFormat format, double value, Toward toward) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const std::uint32_t sign = std::uint32_t{negative}
                             << (format.exponent_bits + format.fraction_bits);
  const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  if (std::isnan(value)) return infinity | ((1u << format.fraction_bits) - 1);
  if (std::isinf(value)) return sign | infinity;
  const auto field = static_cast<int>(bits >> kDoublePlaces & 0x7ff);
  std::uint64_t significand = bits & ((std::uint64_t{1} << kDoublePlaces) - 1);
  if (field != 0) significand |= std::uint64_t{1} << kDoublePlaces;
  if (significand == 0) return sign;
  const int smallest = 1 - bias_of(format);
  const int exponent = std::max(field, 1) - kDoubleBias;
  const int places = kDoublePlaces - format.fraction_bits + std::max(0, smallest - exponent);
  // The significand carries into the exponent's bits, and those into infinity.
  const std::uint64_t kept = cut(significand, places, negative, toward);
  const std::uint64_t before = exponent < smallest ? 0 : exponent - smallest;
  const std::uint64_t all = (before << format.fraction_bits) + kept;
  if (all < infinity) return sign | static_cast<std::uint32_t>(all);
  const bool stays_finite = toward == Toward::zero || (toward == Toward::above && negative) ||
                            (toward == Toward::below && !negative);
  return sign | (infinity - stays_finite);
}

// A double that is rounded to odd keeps what decides about the second rounding: Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"
// (2008).
std::uint16_t narrowed_sum(double a, double b, NarrowFormat format) {
  double sum = a + b;
  if (std::isfinite(sum)) {
    const double of_b = sum - a;
    const double error = (a - (sum - of_b)) + (b - of_b);
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    if (error != 0 && bits % 2 == 0) sum = std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
  }
  return narrowed(sum, format);
}

float widened(std::uint16_t bits, NarrowFormat format) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  if (magnitude > infinity) return std::bit_cast<float>(kFloatNaN);
  if (magnitude == infinity) return std::bit_cast<float>(sign | kFloatInfinity);
  if (format == kBfloat16) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const std::uint32_t moved = magnitude << (kFloatPlaces - format.fraction_bits);
  const int more_bias = kFloatBias - bias_of(format);
  if (magnitude >> format.fraction_bits != 0) {
    return std::bit_cast<float>(sign | (moved + (std::uint32_t(more_bias) << kFloatPlaces)));
  }
  const float value =
      std::ldexp(static_cast<float>(magnitude), 1 - bias_of(format) - format.fraction_bits);
  return sign != 0 ? -value : value;
}

std::uint16_t narrowed_add(std::uint16_t a, std::uint16_t b, NarrowFormat format) {
  return narrowed_sum(widened(a, format), widened(b, format), format);
}

std::uint16_t narrowed_fma(std::uint16_t a, std::uint16_t b, std::uint16_t c, NarrowFormat format) {
  // The product of two such numbers is exact in a double.
  const double product = static_cast<double>(widened(a, format)) * widened(b, format);
  return narrowed_sum(product, widened(c, format), format);
}

TwoTf32 split_into_tf32(float x) {
  const auto tf32 = [](double value, Toward toward) {
    constexpr int kUnused = kFp32Format.fraction_bits - kTf32Format.fraction_bits;
    return std::bit_cast<float>(rounded_to(kTf32Format, value, toward) << kUnused);
  };
  const float high = tf32(x, Toward::zero);
  return {high, tf32(x - high, Toward::nearest_away)};
}

double rounded_to_integer(double value, Toward toward) {
  switch (toward) {
    case Toward::zero:
      return std::trunc(value);
    case Toward::above:
      return std::ceil(value);
    case Toward::below:
      return std::floor(value);
    case Toward::nearest_away:
      return std::round(value);
    case Toward::nearest:
      break;
  }
  const double below = std::floor(value), rest = value - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

}  // namespace model
