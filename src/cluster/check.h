// The check of a C that may be too large for a whole reference.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/schedule.h"
#include "cluster/summa.h"
#include "model/error.h"

namespace cluster {

// Random rows of C, with what they were before the product. All rows where that takes no more than
// a few seconds.
class Check {
 public:
  Check(Shape shape, HostMatrices matrices, float alpha, float beta, std::uint64_t seed);

  int rows() const { return static_cast<int>(rows_.size()); }

  // Compares those of these rows and columns with fp64 on this CPU; `parts` are the pairs of M and
  // N that this process has computed.
  model::Error compare(
      const std::vector<std::pair<Part, Part>>& parts, model::Precision precision) const;

 private:
  const Shape shape_;
  const HostMatrices matrices_;
  const float alpha_, beta_;
  std::vector<int> rows_;  // ascending
  std::vector<float> before_;
};

}  // namespace cluster
