#include "cluster/setting.h"

#include <algorithm>

namespace cluster {

double bytes_of(Shape shape) {
  const auto [M, N, K] = shape;
  return sizeof(float) * (double(M) * K + double(K) * N + double(M) * N);
}

double largest(Processes& processes, double value) {
  const std::vector<double> all = processes.collect(value);
  return *std::max_element(all.begin(), all.end());
}

double smallest(Processes& processes, double value) {
  return -largest(processes, -value);
}

}  // namespace cluster
