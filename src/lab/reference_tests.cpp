#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cpu_reference.h"
#include "lab/reference.h"

namespace lab {

namespace {

constexpr int kSide = 40, kDepth = 1500;  // of these, 512 are summed at first

Floats product_of(const Problem& p) {
  Floats C = p.C;
  openmp_gemm(p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
  return C;
}

}  // namespace

TEST_CASE("a right result of random matrices needs the magnitudes of 512 products only") {
  const Problem p = random_problem({kSide, kSide, kDepth}, 1.5f, 0.5f, 1);
  const Reference reference = compute_reference(p);
  CHECK(reference.terms == 512);
  const model::Error error = compare(p, reference, product_of(p), p.M);
  CHECK(error.bound_ok);
  CHECK(error.relative < 1e-5);
  CHECK(reference.terms == 512);
  CHECK(compute_reference(random_problem({1, 1, 16000}, 1, 0, 1)).terms == 1000);
  CHECK(compute_reference(random_problem({1, 1, 500}, 1, 0, 1)).terms == 500);
}

TEST_CASE("a result whose first products are 0 is compared with the bound of all products") {
  Problem p = random_problem({kSide, kSide, kDepth}, 1, 0, 1);
  for (int i = 0; i < kSide; ++i) std::fill_n(p.A.begin() + i * kDepth, 512, 0.0f);
  const Reference reference = compute_reference(p);
  CHECK(reference.magnitude.back() == 0);
  CHECK(compare(p, reference, product_of(p), p.M).bound_ok);
  CHECK(reference.terms == kDepth);
  CHECK(reference.magnitude.back() > 0);
}

TEST_CASE("a wrong result does not become right because A was overwritten") {
  Problem p = random_problem({kSide, kSide, kDepth}, 1, 0, 1);
  const Reference reference = compute_reference(p);
  Floats wrong = product_of(p);
  wrong[7] += 1;
  p.A[3] = std::numeric_limits<float>::infinity();
  CHECK(!compare(p, reference, wrong, p.M).bound_ok);
}

TEST_CASE("an element is right up to the bound of all products, and wrong beyond") {
  const Problem p = random_problem({kSide, kSide, kDepth}, 1, 0, 1);
  const Floats right = product_of(p);
  std::vector<double> magnitude(p.results());
  reference_magnitude(p.M, p.N, p.K, p.K, p.alpha, p.A.data(), p.B.data(), magnitude.data());
  constexpr int kWrong = 17 * kSide + 5;
  const double gamma = (kDepth + 2) * 0x1p-24 / (1 - (kDepth + 2) * 0x1p-24);
  for (const double part : {0.5, 0.99, 1.01}) {
    CAPTURE(part);
    const Reference reference = compute_reference(p);
    Floats C = right;
    C[kWrong] = static_cast<float>(reference.exact[kWrong] + part * gamma * magnitude[kWrong]);
    const model::Error error = compare(p, reference, C, p.M);
    CHECK(error.bound_ok == (part < 1));
    CHECK(reference.terms == kDepth);
    if (part > 1) CHECK(error.first.value().row == 17);
    if (part > 1) CHECK(error.first.value().column == 5);
  }
}

TEST_CASE("an overflow that all products explain passes, though the first 512 do not") {
  Problem p = random_problem({1, 1, kDepth}, 1, 0, 1);
  std::fill(p.A.begin(), p.A.end(), 0.0f);
  std::fill(p.B.begin(), p.B.end(), 1e30f);
  p.A[1000] = 1e30f;
  p.A[1001] = -1e30f;
  const Reference reference = compute_reference(p);
  const Floats C(1, std::numeric_limits<float>::quiet_NaN());
  const model::Error error = compare(p, reference, C, 1);
  CHECK(error.bound_ok);
  CHECK(error.overflowed == 1);
}

namespace {

// Of 1 x 1 products, whether C passes.
bool is_right(
    std::vector<float> A, std::vector<float> B, float beta, float old, float C,
    model::Precision precision = model::kFp32, float alpha = 1) {
  Problem p = random_problem({1, 1, static_cast<int>(A.size())}, alpha, beta, 1);
  std::copy(A.begin(), A.end(), p.A.begin());
  std::copy(B.begin(), B.end(), p.B.begin());
  p.C[0] = old;
  return compare(p, compute_reference(p), Floats(1, C), 1, precision).bound_ok;
}

}  // namespace

TEST_CASE("beside an infinity of A, B or C, the finite terms may overflow to the other one") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float C : {-kInf, kNan}) {
    CHECK(is_right({-kInf}, {1}, 10, 3e38f, C));
    CHECK(is_right({-kInf, 3e38f}, {1, 10}, 0, 0, C));
    CHECK(is_right({3e38f}, {10}, 1, -kInf, C));
  }
  CHECK(!is_right({-kInf}, {1}, 10, 3e38f, kInf));
  CHECK(!is_right({-kInf}, {1}, 10, 3e38f, 3e38f));
  CHECK(!is_right({-kInf}, {1}, 10, 3e37f, kNan));   // 3e38 is in range
  CHECK(!is_right({-kInf}, {1}, 10, -3e38f, kNan));  // the same infinity
  CHECK(!is_right({-kInf, 3e38f}, {1, 1}, 0, 0, kNan));
}

TEST_CASE("of an input that is too small for tf32's bits, tf32 may lose a step") {
  constexpr float kSmall = 1.05e-40f, kStep = 0x1p-136f, kAlpha = 1e30f;
  const float exact = kAlpha * kSmall;
  for (const model::Precision precision : {model::kTf32, model::kSplitTf32}) {
    CHECK(is_right({kSmall}, {1}, 0, 0, kAlpha * (kSmall - kStep), precision, kAlpha));
    CHECK(is_right({1}, {kSmall}, 0, 0, kAlpha * (kSmall - kStep), precision, kAlpha));
    CHECK(!is_right({kSmall}, {1}, 0, 0, exact - 3 * kAlpha * kStep, precision, kAlpha));
    CHECK(!is_right({1e-30f}, {1}, 0, 0, 1.01e-30f, precision));
    CHECK(!is_right({kSmall, 1}, {0, 1}, 0, 0, 1.01f, precision));
  }
  CHECK(!is_right({kSmall}, {1}, 0, 0, kAlpha * (kSmall - kStep), model::kFp32, kAlpha));
}

}  // namespace lab
