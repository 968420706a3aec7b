// The correct result, and the error of a computed one.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/problem.h"
#include "model/error.h"

namespace lab {

// What model/error.h compares with, M x N. The magnitudes are those of the first `terms` products
// of each element, which is a lower bound: it makes the check stricter and takes much less time.
// When a result fails, the other products are added, so that no result fails for this reason. If
// the code that computed it has overwritten A or B since, they are not, and it fails.
struct Reference {
  std::vector<double> exact;
  mutable std::vector<double> magnitude;
  mutable int terms = 0;
  std::uint64_t factors = 0;  // a fingerprint of A and B
  double largest = 0;         // magnitude in A and B; infinite, also if there is a NaN
};

Reference compute_reference(const Problem& p);

// Compares the first `rows` rows of a computed C with the reference.
model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision = model::kFp32);

}  // namespace lab
