#include "cluster/check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "cpu_reference.h"

namespace cluster {

namespace {

constexpr double kAFewSeconds = 0x1p33;  // multiplications
constexpr int kLeastRows = 16;

std::vector<int> drawn_rows(Shape shape, std::uint64_t seed) {
  const double in_a_row = std::max(1.0, double(shape.N) * shape.K);
  const int count = static_cast<int>(
      std::min<double>(shape.M, std::max<double>(kLeastRows, std::floor(kAFewSeconds / in_a_row))));
  std::vector<int> rows(shape.M);
  for (int i = 0; i < shape.M; ++i) rows[i] = i;
  std::mt19937_64 random(seed);
  std::vector<int> drawn;
  std::sample(rows.begin(), rows.end(), std::back_inserter(drawn), count, random);
  return drawn;
}

}  // namespace

Check::Check(Shape shape, HostMatrices matrices, float alpha, float beta, std::uint64_t seed)
    : shape_(shape),
      matrices_(matrices),
      alpha_(alpha),
      beta_(beta),
      rows_(drawn_rows(shape, seed)) {
  if (beta == 0) return;
  for (const int row : rows_) {
    const float* const from = matrices.C + std::int64_t{row} * shape.N;
    before_.insert(before_.end(), from, from + shape.N);
  }
}

model::Error Check::compare(
    const std::vector<std::pair<Part, Part>>& parts, model::Precision precision) const {
  const auto [M, N, K] = shape_;
  const auto count = static_cast<std::size_t>(rows());
  std::vector<float> A(count * K);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(matrices_.A + std::int64_t{rows_[i]} * K, K, A.begin() + i * K);
  }
  std::vector<double> exact(count * N), magnitude(count * N);
  reference_gemm(
      rows(), N, K, alpha_, A.data(), matrices_.B, beta_, beta_ == 0 ? nullptr : before_.data(),
      exact.data());
  reference_magnitude(rows(), N, K, K, alpha_, A.data(), matrices_.B, magnitude.data());

  model::Error worst{0, 0, true, {}};
  for (const auto& [m, n] : parts) {
    std::vector<float> computed, before;
    std::vector<double> exact_here, magnitude_here;
    std::vector<int> of_rows;
    for (std::size_t i = 0; i < count; ++i) {
      if (rows_[i] < m.begin || rows_[i] >= m.end()) continue;
      of_rows.push_back(rows_[i]);
      const auto append = [&, n = n](auto& to, const auto* from) {
        to.insert(to.end(), from + n.begin, from + n.end());
      };
      append(computed, matrices_.C + std::int64_t{rows_[i]} * N);
      append(exact_here, exact.data() + i * N);
      append(magnitude_here, magnitude.data() + i * N);
      if (beta_ != 0) append(before, before_.data() + i * N);
    }
    model::Error error = model::compare(
        static_cast<int>(of_rows.size()), n.size, K, computed.data(), exact_here.data(),
        magnitude_here.data(), beta_, beta_ == 0 ? nullptr : before.data(), precision, alpha_);
    if (error.first && !worst.first) {
      worst.first = error.first;
      worst.first->row = of_rows[error.first->row];
      worst.first->column += n.begin;
    }
    worst.relative = std::max(worst.relative, error.relative);
    worst.max_abs = std::max(worst.max_abs, error.max_abs);
    worst.bound_ok = worst.bound_ok && error.bound_ok;
  }
  return worst;
}

}  // namespace cluster
