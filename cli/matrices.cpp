#include "cli/matrices.h"

#include <cmath>

namespace {

// The mixing function of SplitMix64 (Steele, Lea, Flood 2014): element i does not depend on i - 1.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

Floats random_floats(std::size_t count, std::uint64_t seed) {
  constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;
  const std::uint64_t start = mix(seed * kGoldenGamma);
  Floats values(count);
#pragma omp parallel for
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits24 = mix(start + i * kGoldenGamma) >> 40;
    values[i] = static_cast<float>(bits24) * 0x1p-23f - 1.0f;
  }
  return values;
}

double relative_difference(const Floats& a, const Floats& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = double{a[i]} - b[i];
    difference += d * d;
    norm += double{b[i]} * b[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}
