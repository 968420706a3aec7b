#include "lab/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lab {

namespace {

// Where it lies between two times, on the line between them.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

}  // namespace

double milliseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(end - start).count();
}

Timing summary(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  return {
      .median_ms = quantile(times_ms, 0.5),
      .min_ms = times_ms.front(),
      .max_ms = times_ms.back(),
      .quartile1_ms = quantile(times_ms, 0.25),
      .quartile3_ms = quantile(times_ms, 0.75),
      .repetitions = static_cast<int>(times_ms.size())};
}

}  // namespace lab
