#include "model/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace model {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallestFp32 = 0x1p-149;

// The largest relative error that n roundings of unit u can add up to.
double gamma(double n, double u) {
  return n * u < 1 ? n * u / (1 - n * u) : kInfinity;
}

// The same for the sum of K products, a scaling and an addition.
double accumulated(double K, const Precision& precision) {
  if (precision.piece == 0) return gamma(K + 2, precision.u_acc);
  const double pieces = std::ceil(K / precision.piece);
  const double of_piece = gamma(std::min<double>(K, precision.piece), precision.u_acc);
  return (1 + of_piece) * (1 + gamma(pieces + 2, kFp32.u_acc)) - 1;
}

// 0 if the value is 0, even if the factor is unknown.
double scaled(double factor, double value) {
  return value == 0 ? 0 : factor * value;
}

// What one range of consecutive elements adds to the whole.
struct ErrorSums {
  double difference_squared = 0;
  double reference_squared = 0;
  double max_abs = 0;
  std::int64_t first_bad = -1;
  std::int64_t overflowed = 0;
};

// The sum of one element: alpha times products, and beta C0.
struct Sum {
  double exact, magnitude, from_c0, alpha, bound, largest;

  // Whether the terms with that sign can add up to more than C holds, before or after scaling by
  // alpha.
  bool overflows(double sign) const {
    const double rounding = std::min(bound, magnitude);
    // Beside an infinite term it is not known how many of the finite ones have which sign.
    const double products =
        std::isfinite(exact) ? std::max(0.0, (magnitude + sign * (exact - from_c0)) / 2) + rounding
                             : magnitude;
    const double unscaled = alpha == 0 ? 0 : products / std::abs(alpha);
    return std::max(unscaled, products + std::max(0.0, sign * from_c0)) > largest;
  }
};

// Whether `value` is a possible result of that sum; one of both is not finite.
bool is_overflow(double value, const Sum& sum) {
  if (std::isnan(sum.exact)) return std::isnan(value);
  if (!std::isfinite(sum.exact)) {
    if (value == sum.exact) return true;
    return std::isnan(value) && std::isfinite(sum.magnitude) &&
           sum.overflows(sum.exact > 0 ? -1 : 1);
  }
  if (std::isnan(value)) return sum.overflows(1) && sum.overflows(-1);
  return sum.overflows(value > 0 ? 1 : -1);
}

}  // namespace

Error compare(
    int M, int N, int K, const float* C, const double* exact, const double* magnitude, float beta,
    const float* C0, Precision precision, float alpha) {
  const double u_in = precision.u_in;
  const double of_product =
      2 * u_in + u_in * u_in + (1 + u_in) * (1 + u_in) * accumulated(K, precision);
  const double of_c0 = gamma(2, precision.u_acc);
  const double underflow = (K * std::abs(double{alpha}) + 2) * kSmallestFp32;

  // Ranges of a fixed length, added up in order, give the same sums with any number of threads.
  constexpr std::int64_t kPartLength = 1 << 14;
  const std::int64_t elements = std::int64_t{M} * N;
  const std::int64_t part_count = (elements + kPartLength - 1) / kPartLength;
  const auto sums_of = [&](std::int64_t p) {
    ErrorSums part;
    const std::int64_t end = std::min(elements, (p + 1) * kPartLength);
    for (std::int64_t i = p * kPartLength; i < end; ++i) {
      const double value = C[i];
      const double from_c0 = C0 ? double{beta} * C0[i] : 0;
      const double before_storing =
          scaled(of_product, magnitude[i]) + scaled(of_c0, std::abs(from_c0)) + underflow;
      const double bound =
          before_storing +
          scaled(magnitude[i] + std::abs(from_c0) + before_storing, precision.u_out) +
          precision.smallest_out;
      double difference = std::abs(value - exact[i]);
      bool ok = difference <= bound;
      if (!std::isfinite(exact[i]) || !std::isfinite(value)) {
        ok = is_overflow(
            value, {exact[i], magnitude[i], from_c0, alpha, bound, precision.largest_out});
        difference = ok ? 0 : kInfinity;
        part.overflowed += ok && std::isfinite(exact[i]);
      } else {
        part.reference_squared += exact[i] * exact[i];
      }
      part.difference_squared += difference * difference;
      part.max_abs = std::max(part.max_abs, difference);
      if (!ok && part.first_bad < 0) part.first_bad = i;
    }
    return part;
  };
  std::vector<ErrorSums> parts(part_count);
  if (part_count == 1) {
    parts[0] = sums_of(0);  // a parallel region costs more than the one element of an exercise
  } else {
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < part_count; ++p) parts[p] = sums_of(p);
  }

  ErrorSums whole;
  for (const ErrorSums& part : parts) {
    whole.difference_squared += part.difference_squared;
    whole.reference_squared += part.reference_squared;
    whole.max_abs = std::max(whole.max_abs, part.max_abs);
    whole.overflowed += part.overflowed;
    if (whole.first_bad < 0) whole.first_bad = part.first_bad;
  }

  Error error{};
  error.max_abs = whole.max_abs;
  error.relative = whole.difference_squared == 0
                       ? 0
                       : std::sqrt(whole.difference_squared / whole.reference_squared);
  error.bound_ok = whole.first_bad < 0;
  error.overflowed = whole.overflowed;
  if (const std::int64_t i = whole.first_bad; i >= 0) {
    error.first = {i / N, i % N, C[i], exact[i]};
  }
  return error;
}

}  // namespace model
