// What a result should be, and how far it is from that.
#pragma once

#include <vector>

#include "lab/problem.h"
#include "model/error.h"

namespace lab {

struct Reference {
  std::vector<double> exact, magnitude;  // as model/error.h takes them, M x N
};

Reference compute_reference(const Problem& p);

// Compares the first `rows` rows of a computed C with the reference.
model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision = model::kFp32);

// Compares the elements that are not what they were before, and works out what they should be.
model::Error compare_written(const Problem& p, const Floats& result, model::Precision precision);

}  // namespace lab
