#include "lab/data.h"

#include <cmath>
#include <numbers>

namespace lab {

namespace {

// An exponent from -20 to 20 for a uniform number.
int exponent_of(float uniform) {
  constexpr int kMost = 20;
  return static_cast<int>(std::floor((uniform + 1) / 2 * (2 * kMost + 1))) - kMost;
}

// Box and Muller's: a normal number from two uniform ones.
float normal(float first, float second) {
  constexpr double kSmallest = 0x1p-24;  // half of the step between two uniform numbers
  const double radius = std::sqrt(-2 * std::log((double{first} + 1) / 2 + kSmallest));
  return static_cast<float>(radius * std::cos(std::numbers::pi * second));
}

// `along_rows`: the index in K of an element is its row, else its column.
void distribute(
    Data data, Floats& values, int columns, bool along_rows, const Floats& more,
    const Floats& of_k) {
#pragma omp parallel for
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t k = along_rows ? i / columns : i % columns;
    float& value = values[i];
    switch (data) {
      case Data::uniform:
        break;
      case Data::normal:
        value = normal(value, more[i]);
        break;
      case Data::positive:
        value = (value + 1) / 2;
        break;
      case Data::wide:
        value = std::ldexp(value, exponent_of(more[i]));
        break;
      case Data::wide_k:
        value = std::ldexp(value, exponent_of(of_k[k]));
        break;
    }
  }
}

}  // namespace

const char* name_of(Data data) {
  switch (data) {
    case Data::uniform:
      return "uniform";
    case Data::normal:
      return "normal";
    case Data::positive:
      return "positive";
    case Data::wide:
      return "wide";
    case Data::wide_k:
      return "wide-k";
  }
  return "";
}

void distribute(Data data, std::uint64_t seed, Problem& p) {
  // The seeds 3 * seed and the next two are those of A, B and C.
  const std::uint64_t fresh = ~(3 * seed);
  const auto more = [&](const Floats& values, std::uint64_t which) {
    const bool needed = data == Data::normal || data == Data::wide;
    return random_floats(needed ? values.size() : 0, fresh - which);
  };
  const Floats of_k = random_floats(data == Data::wide_k ? p.K : 0, fresh - 2);
  distribute(data, p.A, p.K, false, more(p.A, 0), of_k);
  distribute(data, p.B, p.N, true, more(p.B, 1), of_k);
}

}  // namespace lab
