#include "model/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

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

namespace {

// (-1)^negative * significand * 2^exponent, where the significand of a normal float has 24 bits.
struct Term {
  std::uint32_t significand;
  int exponent;  // of the significand's leading place: 0 means a significand of 1.xxx
  bool negative;
};

constexpr int kFactorPlaces = 10;  // of a factor's significand

Term parts_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto field = static_cast<int>(bits >> kFloatPlaces & 0xff);
  const std::uint32_t fraction = bits & ((1u << kFloatPlaces) - 1);
  return {
      field == 0 ? fraction : fraction | 1u << kFloatPlaces, std::max(field, 1) - 127,
      bits >> 31 != 0};
}

// The term in units of 2^(largest - fraction_bits), without what is smaller than one unit.
std::int64_t cut(const Term& term, int places, int largest, int fraction_bits) {
  const int shift = term.exponent - largest + fraction_bits - places;
  const std::int64_t magnitude = shift >= 0    ? std::int64_t{term.significand} << shift
                                 : shift > -32 ? std::int64_t{term.significand} >> -shift
                                               : 0;
  return term.negative ? -magnitude : magnitude;
}

float cut_to_float(std::int64_t sum, int unit) {
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  if (magnitude == 0) return 0;
  constexpr int kSmallestPlace = -149;
  const auto width = static_cast<int>(std::bit_width(magnitude));
  const int excess = std::max({0, width - (kFloatPlaces + 1), kSmallestPlace - unit});
  const std::uint64_t kept = excess < 64 ? magnitude >> excess << excess : 0;
  const double value = std::ldexp(static_cast<double>(kept), unit);
  return static_cast<float>(sum < 0 ? -value : value);
}

struct Sum {
  std::int64_t units;
  int unit;  // its exponent
};

// The products and the accumulator, cut and added; nothing if a term is infinite or a NaN.
std::optional<Sum> add_products(
    std::span<const TensorCoreFactor> a, std::span<const TensorCoreFactor> b, float c,
    int fraction_bits) {
  constexpr std::size_t kMost = 16;
  constexpr int kNone = -1000;
  const Term accumulator = parts_of(c);
  int largest = accumulator.significand != 0 ? accumulator.exponent : kNone;
  bool special = !std::isfinite(c);
  struct {
    std::int32_t significand;
    int exponent;
  } products[kMost];
  for (std::size_t i = 0; i < a.size(); ++i) {
    products[i] = {a[i].significand * b[i].significand, a[i].exponent + b[i].exponent};
    if (products[i].significand != 0) largest = std::max(largest, products[i].exponent);
    special |= a[i].special | b[i].special;
  }
  if (special) return std::nullopt;
  std::int64_t sum = cut(accumulator, kFloatPlaces, largest, fraction_bits);
  // Without a branch that depends on the sign of the shift, which is hard to predict.
  constexpr int kRoom = 32;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int shift = products[i].exponent - largest + fraction_bits - 2 * kFactorPlaces;
    const std::int64_t significand = products[i].significand;
    const std::int64_t magnitude = significand < 0 ? -significand : significand;
    const std::int64_t kept = magnitude << kRoom >> std::clamp(kRoom - shift, 0, 63);
    sum += significand < 0 ? -kept : kept;
  }
  return Sum{sum, largest - fraction_bits};
}

// The sum if a term of it is infinite or a NaN.
float special_sum(
    std::span<const TensorCoreFactor> a, std::span<const TensorCoreFactor> b, float c) {
  double rough = c;
  for (std::size_t i = 0; i < a.size(); ++i) rough += static_cast<double>(a[i].value) * b[i].value;
  return std::isnan(rough) ? std::bit_cast<float>(0x7fffffffu) : static_cast<float>(rough);
}

// A factor from a number with that many places of fraction and exponent.
TensorCoreFactor factor(std::uint32_t bits, int places, int exponent_bits) {
  const std::uint32_t fraction = bits & ((1u << places) - 1);
  const int most = (1 << exponent_bits) - 1, bias = most / 2;
  const int field = static_cast<int>(bits >> places) & most;
  const bool negative = (bits >> (places + exponent_bits) & 1u) != 0;
  const auto magnitude = static_cast<std::int32_t>(field == 0 ? fraction : fraction | 1u << places)
                         << (kFactorPlaces - places);
  TensorCoreFactor result{negative ? -magnitude : magnitude, std::max(field, 1) - bias};
  result.special = field == most;
  if (field == most) {
    result.value = fraction != 0 ? std::bit_cast<float>(0x7fffffffu)
                   : negative    ? -std::numeric_limits<float>::infinity()
                                 : std::numeric_limits<float>::infinity();
  } else {
    result.value =
        std::ldexp(static_cast<float>(result.significand), result.exponent - kFactorPlaces);
  }
  return result;
}

}  // namespace

float tf32_seen(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
}

float tf32_copied(float value) {
  if (std::isnan(value)) return std::bit_cast<float>(0x7fffe000u);
  constexpr int kLost = kFloatPlaces - kFactorPlaces;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t almost_half = (1u << (kLost - 1)) - 1, is_odd = bits >> kLost & 1u;
  return tf32_seen(std::bit_cast<float>(bits + almost_half + is_odd));
}

TensorCoreFactor factor_of_tf32(float value) {
  constexpr int kExponentBits = 8, kUnused = kFloatPlaces - kFactorPlaces;
  return factor(std::bit_cast<std::uint32_t>(value) >> kUnused, kFactorPlaces, kExponentBits);
}
TensorCoreFactor factor_of_f16(std::uint16_t bits) {
  constexpr int kPlaces = 10, kExponentBits = 5;
  return factor(bits, kPlaces, kExponentBits);
}
TensorCoreFactor factor_of_bf16(std::uint16_t bits) {
  constexpr int kPlaces = 7, kExponentBits = 8;
  return factor(bits, kPlaces, kExponentBits);
}

float tensor_core_dot(
    std::span<const TensorCoreFactor> a, std::span<const TensorCoreFactor> b, float c,
    TensorCore core) {
  for (std::size_t k = 0; k < a.size(); k += core.products) {
    const std::size_t count = std::min<std::size_t>(core.products, a.size() - k);
    const auto first = a.subspan(k, count), second = b.subspan(k, count);
    const auto sum = add_products(first, second, c, core.fraction_bits);
    c = sum ? cut_to_float(sum->units, sum->unit) : special_sum(first, second, c);
  }
  return c;
}

std::uint16_t tensor_core_dot_f16(
    std::span<const TensorCoreFactor> a, std::span<const TensorCoreFactor> b, std::uint16_t c,
    TensorCore core) {
  const auto rounded = [](double value) { return narrowed(value, kFp16); };
  for (std::size_t k = 0; k < a.size(); k += core.products) {
    const std::size_t count = std::min<std::size_t>(core.products, a.size() - k);
    const auto first = a.subspan(k, count), second = b.subspan(k, count);
    const auto before = widened(c, kFp16);
    const auto sum = add_products(first, second, before, core.fraction_bits);
    c = rounded(
        sum ? std::ldexp(static_cast<double>(sum->units), sum->unit)
            : special_sum(first, second, before));
  }
  return c;
}

float tensor_core_dot(
    std::span<const float> a, std::span<const float> b, float c, TensorCore core) {
  constexpr std::size_t kMost = 16;
  TensorCoreFactor first[kMost], second[kMost];
  for (std::size_t k = 0; k < a.size(); k += kMost) {
    const std::size_t count = std::min(kMost, a.size() - k);
    for (std::size_t i = 0; i < count; ++i) {
      first[i] = factor_of_tf32(a[k + i]);
      second[i] = factor_of_tf32(b[k + i]);
    }
    c = tensor_core_dot(
        std::span<const TensorCoreFactor>(first, count),
        std::span<const TensorCoreFactor>(second, count), c, core);
  }
  return c;
}

}  // namespace model
