#include "lab/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu_reference.h"
#include "lab/progress.h"
#include "text/numbers.h"

namespace lab {

namespace {

std::uint64_t fingerprint(const Problem& p) {
  std::uint64_t hash = text::kNoFingerprint;
  for (const Floats* matrix : {&p.A, &p.B}) {
    for (const float element : *matrix) {
      hash = text::fingerprint(hash, std::bit_cast<std::uint32_t>(element));
    }
  }
  return hash;
}

// What a multiplier can make of the elements: each may be off by `step` / u_in, besides u_in of
// itself. Infinities and NaN are left out, so that the magnitudes are those of the finite products.
Floats in_steps(const Floats& matrix, double step_by_u) {
  Floats result = matrix;
  for (float& x : result) {
    const bool counts = std::isfinite(x) && x != 0;
    x = counts ? std::abs(x) + static_cast<float>(step_by_u) : 0;
  }
  return result;
}

void sum_magnitudes(const Problem& p, int terms, const Reference& reference, Progress& progress) {
  reference.terms = terms;
  reference.magnitude.resize(p.results());
  reference_magnitude(
      p.M, p.N, p.K, terms, p.alpha, p.A.data() + p.lead, p.B.data() + p.lead,
      reference.magnitude.data(), [&](std::int64_t done) { progress.advance(done); });
}

}  // namespace

Reference compute_reference(const Problem& p) {
  // With random matrices, the bound for 512 products is several times as large as what rounding
  // usually does to K of them, whatever their precision. A sixteenth of K keeps it so for large K.
  const int terms = std::min(p.K, std::max(512, p.K / 16));
  Reference reference{std::vector<double>(p.results()), {}};
  for (const Floats* matrix : {&p.A, &p.B}) {
    for (const float x : *matrix) {
      const double size = std::isnan(x) ? INFINITY : std::abs(double{x});
      reference.largest = std::max(reference.largest, size);
    }
  }
  Progress progress("reference", static_cast<std::int64_t>(p.results()) * (p.K + terms));
  reference_gemm(
      p.M, p.N, p.K, p.alpha, p.A.data() + p.lead, p.B.data() + p.lead, p.beta,
      p.beta == 0 ? nullptr : p.C.data() + p.lead, reference.exact.data(),
      [&](std::int64_t done) { progress.advance(done); });
  sum_magnitudes(p, terms, reference, progress);
  if (terms < p.K) reference.factors = fingerprint(p);
  return reference;
}

model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision) {
  const auto compared = [&](const std::vector<double>& magnitude) {
    return model::compare(
        rows, p.N, p.K, result.data() + p.lead, reference.exact.data(), magnitude.data(), p.beta,
        p.beta == 0 ? nullptr : p.C.data() + p.lead, precision, p.alpha);
  };
  model::Error error = compared(reference.magnitude);
  if (error.bound_ok) return error;
  const bool factors_are_known = reference.terms == p.K || fingerprint(p) == reference.factors;
  if (reference.terms < p.K && factors_are_known) {
    Progress progress("error bounds", static_cast<std::int64_t>(p.results()) * p.K);
    sum_magnitudes(p, p.K, reference, progress);
    error = compared(reference.magnitude);
  }
  const bool may_be_special = precision.step_in > 0 || !std::isfinite(error.first->expected);
  if (error.bound_ok || !may_be_special || !factors_are_known) return error;
  const double step_by_u = precision.step_in > 0 ? precision.step_in / precision.u_in : 0;
  const Floats A = in_steps(p.A, step_by_u), B = in_steps(p.B, step_by_u);
  std::vector<double> magnitude(p.results());
  reference_magnitude(
      p.M, p.N, p.K, p.K, p.alpha, A.data() + p.lead, B.data() + p.lead, magnitude.data());
  error = compared(magnitude);
  error.forgiven = error.bound_ok && precision.step_in > 0;
  return error;
}

}  // namespace lab
