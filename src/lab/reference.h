// The correct result, and the error of a computed one.
#pragma once

#include <vector>

#include "lab/problem.h"
#include "model/error.h"

namespace lab {

struct Reference {
  std::vector<double> exact, magnitude;  // M x N, used as in model/error.h
};

Reference compute_reference(const Problem& p);

// Compares the first `rows` rows of a computed C with the reference.
model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision = model::kFp32);

// Compares only the elements that have changed, and computes their reference values.
model::Error compare_written(const Problem& p, const Floats& result, model::Precision precision);

}  // namespace lab
