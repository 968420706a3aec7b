#include "model/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
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

constexpr int kSmallestExponent = 1 - kFloatBias;
constexpr int kOfZero = -4096, kOfSpecial = 8192;  // exponents; an infinity and a NaN are special

double power_of_two(int exponent) {
  return std::bit_cast<double>(std::uint64_t(exponent + kDoubleBias) << kDoublePlaces);
}

constexpr int kLostPlaces = kDoublePlaces - kFloatPlaces;
double cut_to_float_places(double value) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) >> kLostPlaces << kLostPlaces);
}

// The exponent of an accumulator's 1.
int exponent_of(float c) {
  const auto field = static_cast<int>(std::bit_cast<std::uint32_t>(c) >> kFloatPlaces & 0xff);
  return c == 0 ? kOfZero : std::max(field, 1) - kFloatBias;
}

// The sum; nothing if a term is infinite or a NaN. In units of the last place that is kept, a
// product of factors is exact, and a conversion to an integer cuts it.
std::optional<double> add_products(
    const TensorCoreFactors& a, const TensorCoreFactors& b, int k, float c, TensorCore core) {
  if (!std::isfinite(c)) return std::nullopt;
  int largest = std::max(exponent_of(c), 2 * kSmallestExponent);
  for (int i = k; i < k + core.products; ++i) {
    largest = std::max(largest, a.exponents[i] + b.exponents[i]);
  }
  if (largest >= kOfSpecial + kOfZero) return std::nullopt;
  const double in_units = power_of_two(kTensorCorePlaces - largest);
  auto units = static_cast<std::int64_t>(c * in_units);
  for (int i = k; i < k + core.products; ++i) {
    units += static_cast<std::int64_t>(double{a.values[i]} * b.values[i] * in_units);
  }
  return static_cast<double>(units) * power_of_two(largest - kTensorCorePlaces);
}

// Numbers of neighbouring columns, for vector instructions.
using Exponents [[gnu::vector_size(16)]] = std::int16_t;
using Floats [[gnu::vector_size(16)]] = float;
using Integers [[gnu::vector_size(16)]] = std::int32_t;
template <class Vector, class T>
Vector vector_at(const T* first) {
  Vector vector;
  std::memcpy(&vector, first, sizeof vector);
  return vector;
}

// The same for eight columns, with a cut sum and in floats, which is faster. False, and nothing is
// done, if a number is too large or small for that.
bool add_in_floats(
    const TensorCoreFactors& a, const TensorCoreColumns& b, int k,
    std::span<float, TensorCoreColumns::kColumns> c, TensorCore core) {
  constexpr int kColumns = TensorCoreColumns::kColumns;
  Exponents largest;
  for (int j = 0; j < kColumns; ++j) largest[j] = static_cast<std::int16_t>(exponent_of(c[j]));
  for (int i = k; i < k + core.products; ++i) {
    const Exponents exponents = vector_at<Exponents>(b.exponents[i]) + a.exponents[i];
    largest = largest > exponents ? largest : exponents;
  }
  // A product that is subnormal among floats is then less than a unit.
  constexpr int kOfFloats = 60;
  float in_units[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    if (largest[j] < kOfZero / 2) largest[j] = 0;  // all terms are 0
    if (std::abs(largest[j]) > kOfFloats) return false;
    in_units[j] = static_cast<float>(power_of_two(kTensorCorePlaces - largest[j]));
  }
  // Each of at most 16 products has less than 2^27 units.
  std::int32_t sums[kColumns];
  for (int j = 0; j < kColumns; j += sizeof(Floats) / sizeof(float)) {
    const auto scale = vector_at<Floats>(&in_units[j]);
    Integers sum{};
    for (int i = k; i < k + core.products; ++i) {
      const Floats products = vector_at<Floats>(&b.values[i][j]) * a.values[i] * scale;
      sum += __builtin_convertvector(products, Integers);
    }
    std::memcpy(&sums[j], &sum, sizeof sum);
  }
  for (int j = 0; j < kColumns; ++j) {
    const double units =
        static_cast<double>(sums[j]) + static_cast<std::int32_t>(c[j] * in_units[j]);
    const double sum = units * power_of_two(largest[j] - kTensorCorePlaces);
    c[j] = static_cast<float>(cut_to_float_places(sum));
  }
  return true;
}

float cut_to_float(double value) {
  constexpr int kSmallestPlace = kSmallestExponent - kFloatPlaces;
  if (std::abs(value) < std::numeric_limits<float>::min()) {
    const double places = std::trunc(value * power_of_two(-kSmallestPlace));
    return static_cast<float>(places * power_of_two(kSmallestPlace));
  }
  return static_cast<float>(cut_to_float_places(value));
}

// The sum if a term of it is infinite or a NaN.
float special_sum(
    const TensorCoreFactors& a, const TensorCoreFactors& b, int k, float c, TensorCore core) {
  double rough = c;
  for (int i = k; i < k + core.products; ++i) rough += double{a.values[i]} * b.values[i];
  return std::isnan(rough) ? std::bit_cast<float>(kFloatNaN) : static_cast<float>(rough);
}

}  // namespace

float tf32_seen(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
}

float tf32_copied(float value) {
  if (std::isnan(value)) return std::bit_cast<float>(0x7fffe000u);
  constexpr int kLost = kFloatPlaces - kTf32Format.fraction_bits;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t almost_half = (1u << (kLost - 1)) - 1, is_odd = bits >> kLost & 1u;
  return tf32_seen(std::bit_cast<float>(bits + almost_half + is_odd));
}

TensorCoreFactors::TensorCoreFactors() : values{} {
  std::fill(std::begin(exponents), std::end(exponents), static_cast<std::int16_t>(kOfZero));
}

void TensorCoreFactors::set(int k, std::uint32_t bits, NarrowFormat format) {
  const bool is_tf32 = format == kTf32Format;
  values[k] = is_tf32 ? tf32_seen(std::bit_cast<float>(bits))
                      : widened(static_cast<std::uint16_t>(bits), format);
  if (is_tf32) bits >>= kFloatPlaces - kTf32Format.fraction_bits;
  const int places = format.fraction_bits, most = (1 << format.exponent_bits) - 1;
  const std::uint32_t fraction = bits & ((1u << places) - 1);
  const int field = static_cast<int>(bits >> places) & most;
  const int exponent = std::max(field, 1) - bias_of(format);
  const bool is_zero = field == 0 && fraction == 0;
  exponents[k] = static_cast<std::int16_t>(
      field == most ? kOfSpecial
      : is_zero     ? kOfZero
                    : exponent);
}

TensorCoreColumns::TensorCoreColumns(const TensorCoreFactors* columns) : each(columns) {
  for (int k = 0; k < TensorCoreFactors::kMost; ++k) {
    for (int j = 0; j < kColumns; ++j) {
      values[k][j] = columns[j].values[k];
      exponents[k][j] = columns[j].exponents[k];
    }
  }
}

void add_tensor_core_dots(
    const TensorCoreFactors& a, const TensorCoreColumns& b, int depth,
    std::span<float, TensorCoreColumns::kColumns> c, TensorCore core) {
  for (int k = 0; k < depth; k += core.products) {
    if (add_in_floats(a, b, k, c, core)) continue;
    for (int j = 0; j < TensorCoreColumns::kColumns; ++j) {
      const auto sum = add_products(a, b.each[j], k, c[j], core);
      c[j] = sum ? cut_to_float(*sum) : special_sum(a, b.each[j], k, c[j], core);
    }
  }
}

std::uint16_t tensor_core_dot_f16(
    const TensorCoreFactors& a, const TensorCoreFactors& b, int depth, std::uint16_t c,
    TensorCore core) {
  for (int k = 0; k < depth; k += core.products) {
    const float before = widened(c, kFp16);
    const auto sum = add_products(a, b, k, before, core);
    c = narrowed(sum ? *sum : special_sum(a, b, k, before, core), kFp16);
  }
  return c;
}

float tensor_core_dot(
    std::span<const float> a, std::span<const float> b, float c, TensorCore core,
    NarrowFormat format) {
  const auto bits_of = [&](float value) {
    return format == kTf32Format ? std::bit_cast<std::uint32_t>(value) : rounded_to(format, value);
  };
  const auto all = static_cast<int>(a.size());
  for (int k = 0; k < all; k += TensorCoreFactors::kMost) {
    TensorCoreFactors first, columns[TensorCoreColumns::kColumns];
    std::array<float, TensorCoreColumns::kColumns> sums{c};
    const int depth = std::min(TensorCoreFactors::kMost, all - k);
    for (int i = 0; i < depth; ++i) {
      first.set(i, bits_of(a[k + i]), format);
      columns[0].set(i, bits_of(b[k + i]), format);
    }
    add_tensor_core_dots(first, TensorCoreColumns(columns), depth, sums, core);
    c = sums[0];
  }
  return c;
}

}  // namespace model
