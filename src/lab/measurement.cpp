#include "lab/measurement.h"

#include <algorithm>

namespace lab {

Timing summary(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  const std::size_t n = times_ms.size();
  return {
      .median_ms = (times_ms[(n - 1) / 2] + times_ms[n / 2]) / 2,
      .min_ms = times_ms.front(),
      .max_ms = times_ms.back(),
      .repetitions = static_cast<int>(n)};
}

}  // namespace lab
