#include "model/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace model {
namespace {

// (-1)^negative * significand * 2^exponent, where the significand of a normal float has 24 bits and
// that of a product of two tf32 numbers has 21 or 22.
struct Term {
  std::uint32_t significand;
  int exponent;  // of the significand's leading place: 0 means a significand of 1.xxx
  bool negative;
};

constexpr int kFloatPlaces = 23, kTf32Places = 10;

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

float add_products(std::span<const float> a, std::span<const float> b, float c, int fraction_bits) {
  constexpr std::size_t kMost = 16;
  constexpr int kNone = -1000;
  const Term accumulator = parts_of(c);
  int largest = accumulator.significand != 0 ? accumulator.exponent : kNone;
  Term products[kMost];
  double rough = c;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float x = tf32_seen(a[i]), y = tf32_seen(b[i]);
    rough += static_cast<double>(x) * y;
    const Term p = parts_of(x), q = parts_of(y);
    constexpr int kUnused = kFloatPlaces - kTf32Places;
    products[i] = {
        (p.significand >> kUnused) * (q.significand >> kUnused), p.exponent + q.exponent,
        p.negative != q.negative};
    if (products[i].significand != 0) largest = std::max(largest, products[i].exponent);
  }
  if (std::isnan(rough)) return std::bit_cast<float>(0x7fffffffu);
  if (std::isinf(rough)) return static_cast<float>(rough);
  std::int64_t sum = cut(accumulator, kFloatPlaces, largest, fraction_bits);
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += cut(products[i], 2 * kTf32Places, largest, fraction_bits);
  }
  return cut_to_float(sum, largest - fraction_bits);
}

}  // namespace

float tf32_seen(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
}

float tf32_copied(float value) {
  if (std::isnan(value)) return std::bit_cast<float>(0x7fffe000u);
  constexpr int kLost = kFloatPlaces - kTf32Places;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t almost_half = (1u << (kLost - 1)) - 1, is_odd = bits >> kLost & 1u;
  return tf32_seen(std::bit_cast<float>(bits + almost_half + is_odd));
}

float tensor_core_dot(
    std::span<const float> a, std::span<const float> b, float c, TensorCore core) {
  for (std::size_t k = 0; k < a.size(); k += core.products) {
    const std::size_t count = std::min<std::size_t>(core.products, a.size() - k);
    c = add_products(a.subspan(k, count), b.subspan(k, count), c, core.fraction_bits);
  }
  return c;
}

}  // namespace model
