#include "model/error.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace model {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A product in plain fp32, with what compare() needs to judge it.
struct Judged {
  int M, N, K;
  float alpha, beta;
  std::vector<float> C0, C;
  std::vector<double> exact, magnitude;

  Error compared() const {
    return compare(
        M, N, K, C.data(), exact.data(), magnitude.data(), beta, beta == 0 ? nullptr : C0.data(),
        kFp32, alpha);
  }
  // Half the width of the interval in which an element may be, without the underflow term.
  double bound(int i) const {
    const double u = 0x1p-24, n = K + 2;
    return n * u / (1 - n * u) * magnitude[i] + 2 * u / (1 - 2 * u) * std::abs(beta * C0[i]);
  }
};

Judged product(int M, int N, int K, float alpha, float beta) {
  std::mt19937 random(M * 31 + N * 7 + K);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto matrix = [&](int elements) {
    std::vector<float> values(elements);
    for (float& value : values) value = uniform(random);
    return values;
  };
  const std::vector<float> A = matrix(M * K), B = matrix(K * N);
  Judged p{M, N, K, alpha, beta, matrix(M * N), {}, {}, {}};
  for (int i = 0; i < M * N; ++i) {
    float sum = 0;
    double exact = 0, magnitude = 0;
    for (int k = 0; k < K; ++k) {
      const float a = A[i / N * K + k], b = B[k * N + i % N];
      sum += a * b;
      exact += double{a} * b;
      magnitude += std::abs(double{a} * b);
    }
    p.C.push_back(alpha * sum + beta * p.C0[i]);
    p.exact.push_back(alpha * exact + double{beta} * p.C0[i]);
    p.magnitude.push_back(std::abs(alpha) * magnitude);
  }
  return p;
}

// A 1x1 result that should be `exact`, with products of this total magnitude.
Error one_element(float value, double exact) {
  const double magnitude = std::abs(exact);
  return compare(1, 1, 4, &value, &exact, &magnitude, 0, nullptr, kFp32);
}

}  // namespace

TEST_CASE("a correct fp32 result is within the bound") {
  for (const float beta : {0.0f, 2.5f}) {
    const Error error = product(33, 65, 127, 1.5f, beta).compared();
    CHECK(error.bound_ok);
    CHECK(!error.first);
    CHECK(error.relative > 1e-8);
    CHECK(error.relative < 1e-6);
    CHECK(error.max_abs > 0);
  }
}

TEST_CASE("one element off by twice the bound fails; the first one, row by row, is named") {
  for (const float beta : {0.0f, 2.5f}) {
    Judged p = product(17, 9, 64, -0.75f, beta);
    for (const int i : {7 * 9 + 4, 7 * 9 + 5, 12 * 9}) {
      p.C[i] = static_cast<float>(p.exact[i] + 2 * p.bound(i));
    }
    const Error error = p.compared();
    CHECK(!error.bound_ok);
    REQUIRE(error.first);
    CHECK(error.first->row == 7);
    CHECK(error.first->column == 4);
    CHECK(error.first->value == p.C[7 * 9 + 4]);
    CHECK(error.first->expected == p.exact[7 * 9 + 4]);
  }
}

TEST_CASE("one element just outside the bound fails, one just inside passes") {
  Judged p = product(17, 9, 64, 1, 1);
  p.C[70] = static_cast<float>(p.exact[70] + 1.01 * p.bound(70));
  CHECK(!p.compared().bound_ok);
  p.C[70] = static_cast<float>(p.exact[70] - 1.01 * p.bound(70));
  CHECK(!p.compared().bound_ok);
  p.C[70] = static_cast<float>(p.exact[70] + 0.99 * p.bound(70));
  CHECK(p.compared().bound_ok);
}

TEST_CASE("inputs rounded to tf32 have a wider bound than fp32") {
  const float value = 1 + 0x1p-11f;
  const double exact = 1, magnitude = 1;
  CHECK(!compare(1, 1, 1, &value, &exact, &magnitude, 0, nullptr, kFp32).bound_ok);
  CHECK(compare(1, 1, 1, &value, &exact, &magnitude, 0, nullptr, kTf32).bound_ok);

  // With K = 2^20, gamma is 0.142857: 2 u + u^2 + (1 + u)^2 gamma is 0.143974.
  const double none = 0;
  const float inside = 0.14396f, outside = 0.14399f;
  CHECK(compare(1, 1, 1 << 20, &inside, &none, &magnitude, 0, nullptr, kTf32).bound_ok);
  CHECK(!compare(1, 1, 1 << 20, &outside, &none, &magnitude, 0, nullptr, kTf32).bound_ok);
}

TEST_CASE("if fp32 adds up the sums of pieces, a sum may lose less") {
  const double exact = 1, magnitude = 8;
  const auto is_right = [&](int K, double error, const Precision& precision) {
    const float value = static_cast<float>(exact + error);
    return compare(1, 1, K, &value, &exact, &magnitude, 0, nullptr, precision).bound_ok;
  };
  const auto gamma = [](double n, double u) { return n * u / (1 - n * u); };
  Precision whole = kSplitFp16;
  whole.piece = 0;
  for (const int K : {1, 64, 65, 4096}) {
    CAPTURE(K);
    // As compare() says it: a piece on tensor cores, then one more fp32 addition for each.
    const double u = kSplitFp16.u_in, of_piece = gamma(std::min(K, 64), 0x1p-23);
    const double sum = (1 + of_piece) * (1 + gamma(std::ceil(K / 64.0) + 2, 0x1p-24)) - 1;
    const double bound = magnitude * (2 * u + u * u + (1 + u) * (1 + u) * sum);
    CHECK(is_right(K, 0.98 * bound, kSplitFp16));
    CHECK(!is_right(K, 1.02 * bound + 0x1p-23, kSplitFp16));
    if (K == 4096) CHECK(is_right(K, 1.02 * bound + 0x1p-23, whole));
  }
  // The parts of fp16 and of tf32 lose about as much, and far less than a single tf32 number.
  CHECK(kSplitFp16.u_in < kSplitTf32.u_in);
  CHECK(kSplitTf32.u_in < kTf32.u_in / 500);
}

TEST_CASE("the norms are those of the difference and of the reference") {
  const float C[] = {3, 0, 0, 4.5f};
  const double exact[] = {3, 0, 0, 4}, magnitude[] = {3, 0, 0, 4};
  const Error error = compare(2, 2, 1, C, exact, magnitude, 0, nullptr, kFp32);
  CHECK(error.max_abs == 0.5);
  CHECK(error.relative == doctest::Approx(0.1));
  REQUIRE(error.first);
  CHECK(error.first->row == 1);
  CHECK(error.first->column == 1);
}

TEST_CASE("a NaN or an infinity fails unless the reference has it, too") {
  for (const float value : {kNan, kInf, -kInf}) {
    Judged p = product(5, 5, 5, 1, 0);
    p.C[13] = value;
    const Error error = p.compared();
    CHECK(!error.bound_ok);
    REQUIRE(error.first);
    CHECK(error.first->row == 2);
    CHECK(error.first->column == 3);
    CHECK(std::isinf(error.relative));
    CHECK(std::isinf(error.max_abs));
  }
}

TEST_CASE("a NaN or an infinity of the reference is required, and adds nothing to the norms") {
  CHECK(one_element(kNan, kNan).bound_ok);
  CHECK(one_element(kNan, kNan).relative == 0);
  CHECK(one_element(kInf, kInf).bound_ok);
  CHECK(one_element(-kInf, -kInf).max_abs == 0);
  CHECK(!one_element(kInf, -kInf).bound_ok);
  CHECK(!one_element(1, kNan).bound_ok);
  CHECK(!one_element(FLT_MAX, kInf).bound_ok);
  CHECK(!one_element(kNan, kInf).bound_ok);
}

TEST_CASE("an infinity is right if the exact result is beyond fp32") {
  CHECK(one_element(kInf, 1e39).bound_ok);
  CHECK(one_element(-kInf, -1e39).bound_ok);
  CHECK(one_element(-kInf, -1e39).relative == 0);
  CHECK(!one_element(-kInf, 1e39).bound_ok);
  CHECK(!one_element(kInf, 0.99 * FLT_MAX).bound_ok);
  CHECK(!one_element(kNan, 1e39).bound_ok);
}

namespace {

// A 1x1 result of these products, times alpha, plus beta C0.
Error one_sum(
    float value, const std::vector<double>& products, float alpha = 1, float beta = 0,
    float C0 = 0) {
  double sum = 0, magnitude = 0;
  for (const double product : products) {
    sum += product;
    magnitude += std::abs(product);
  }
  const double exact = alpha * sum + double{beta} * C0;
  magnitude *= std::abs(alpha);
  return compare(
      1, 1, static_cast<int>(products.size()), &value, &exact, &magnitude, beta,
      beta == 0 ? nullptr : &C0, kFp32, alpha);
}

// Whether a non-finite result passes, as an overflow.
bool overflows(const Error& error) {
  CHECK(error.overflowed == (error.bound_ok ? 1 : 0));
  CHECK((error.bound_ok ? error.relative == 0 : std::isinf(error.relative)));
  return error.bound_ok;
}

}  // namespace

TEST_CASE("a sum that leaves the range of fp32 on the way overflows, whatever the final value") {
  CHECK(overflows(one_sum(kInf, {3e38, 3e38, -3e38})));
  CHECK(overflows(one_sum(-kInf, {3e38, -3e38, -3e38})));
  CHECK(!overflows(one_sum(-kInf, {3e38, 3e38, -3e38})));  // one product of -3e38 is in range
  CHECK(!overflows(one_sum(kInf, {3e38, -3e38})));
  CHECK(overflows(one_sum(kNan, {3e38, 3e38, -3e38, -3e38})));  // infinity minus infinity
  CHECK(!overflows(one_sum(kNan, {3e38, 3e38, -3e38})));
  CHECK(!overflows(one_sum(kNan, {3e38, 3e38})));
}

TEST_CASE("alpha and beta C0 can leave the range of fp32, too") {
  CHECK(overflows(one_sum(kInf, {3e38, 3e38}, 1e-10f)));  // before it is scaled
  CHECK(overflows(one_sum(-kInf, {3e38, 3e38}, -1e-10f)));
  CHECK(!overflows(one_sum(kInf, {3e38, 3e38}, -1e-10f)));
  CHECK(overflows(one_sum(kInf, {1, 1}, 3e38f)));
  CHECK(overflows(one_sum(kInf, {1, 1}, 3e38f, 1, -3e38f)));  // before C0 is added
  CHECK(!overflows(one_sum(-kInf, {1, 1}, 3e38f, 1, -3e38f)));
  CHECK(overflows(one_sum(kInf, {2e38}, 1, 1e10f, 1e30f)));
  CHECK(overflows(one_sum(kNan, {1, 1}, 3e38f, 2, -3e38f)));
  CHECK(!overflows(one_sum(kNan, {0}, 0, 1, 1)));
}

TEST_CASE("a finite result is wrong if the exact one is beyond fp32") {
  const Error error = one_sum(FLT_MAX, {3e38, 3e38});
  CHECK(!error.bound_ok);
  CHECK(error.overflowed == 0);
  REQUIRE(error.first);
  CHECK(error.first->expected == 6e38);
}

TEST_CASE("overflows are counted, and the other elements are judged as usual") {
  Judged p = product(40, 50, 16, 1, 0);
  for (const int i : {3, 700, 1999}) {
    p.exact[i] = p.magnitude[i] = 1e39;
    p.C[i] = kInf;
  }
  Error error = p.compared();
  CHECK(error.bound_ok);
  CHECK(error.overflowed == 3);
  CHECK(error.relative > 0);
  CHECK(error.relative < 1e-6);
  p.C[800] = kInf;
  error = p.compared();
  CHECK(!error.bound_ok);
  CHECK(error.overflowed == 3);
  CHECK(error.first->row == 16);
}

TEST_CASE("products that are too small for fp32 may each vanish") {
  const double exact = 1e-46, magnitude = 1e-46;
  const float zero = 0, small = 1e-38f;
  CHECK(compare(1, 1, 1, &zero, &exact, &magnitude, 0, nullptr, kFp32).bound_ok);
  CHECK(!compare(1, 1, 1, &small, &exact, &magnitude, 0, nullptr, kFp32).bound_ok);
  const double scaled_up = 1e-36;
  CHECK(compare(1, 1, 1, &zero, &scaled_up, &scaled_up, 0, nullptr, kFp32, 1e10f).bound_ok);
  CHECK(!compare(1, 1, 1, &zero, &scaled_up, &scaled_up, 0, nullptr, kFp32).bound_ok);
}

TEST_CASE("empty matrices agree, and K = 0 leaves beta C0") {
  const Error empty = compare(0, 0, 5, nullptr, nullptr, nullptr, 0, nullptr, kFp32);
  CHECK(empty.bound_ok);
  CHECK(empty.relative == 0);
  CHECK(empty.max_abs == 0);

  Judged p = product(3, 4, 0, 1, 2.5f);
  CHECK(p.compared().bound_ok);
  p.C[5] = 0;
  CHECK(!p.compared().bound_ok);

  const Error zeros = product(3, 4, 0, 1, 0).compared();
  CHECK(zeros.bound_ok);
  CHECK(zeros.relative == 0);
}

TEST_CASE("with more than 2^24 products there is no bound, but a NaN still fails") {
  const float wrong = 5, nan = kNan, nothing = 0;
  const double exact = 1, magnitude = 1, zero = 0;
  CHECK(compare(1, 1, 1 << 25, &wrong, &exact, &magnitude, 0, nullptr, kFp32).bound_ok);
  CHECK(!compare(1, 1, 1 << 25, &nan, &exact, &magnitude, 0, nullptr, kFp32).bound_ok);
  CHECK(!compare(1, 1, 1 << 25, &wrong, &zero, &zero, 0, nullptr, kFp32).bound_ok);
  CHECK(compare(1, 1, 1 << 25, &nothing, &zero, &zero, 0, nullptr, kFp32).bound_ok);
}

TEST_CASE("a C in half may be farther off by its own rounding, and overflows earlier") {
  const Precision half{0, 0x1p-24, 0x1p-11, 0x1p-24, 65504};
  const auto ok = [&](float value, double exact, Precision precision) {
    const double magnitude = std::abs(exact);
    return compare(1, 1, 1, &value, &exact, &magnitude, 0, nullptr, precision).bound_ok;
  };
  CHECK(ok(1 + 0x1p-11f, 1, half));
  CHECK(!ok(1 + 0x1p-11f, 1, kFp32));
  CHECK(!ok(1 + 0x1.1p-11f, 1, half));
  CHECK(ok(0, 0x1p-24, half));
  CHECK(!ok(0, 0x1.8p-24, half));
  CHECK(ok(kInf, 65520, half));
  CHECK(!ok(kInf, 65520, kFp32));
  CHECK(!ok(kInf, 65000, half));
  // What is added to beta C0 is rounded with it.
  const float old = 8, sum = 8 + 0x1p-8f;
  const double exact = 8, nothing = 0;
  CHECK(compare(1, 1, 1, &sum, &exact, &nothing, 1, &old, half).bound_ok);
  CHECK(!compare(1, 1, 1, &sum, &exact, &nothing, 1, &old, kFp32).bound_ok);
}

TEST_CASE("the comparison is bitwise the same with any number of threads") {
  Judged p = product(300, 301, 3, 1, 0);
  p.C[299 * 301] = 9;
  p.C[150 * 301 + 3] = -9;
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Error alone = p.compared();
  omp_set_num_threads(7);
  const Error together = p.compared();
  omp_set_num_threads(threads_before);
  CHECK(alone.relative == together.relative);
  CHECK(alone.max_abs == together.max_abs);
  REQUIRE(together.first);
  CHECK(alone.first->row == 150);
  CHECK(together.first->row == 150);
  CHECK(together.first->column == 3);
}

}  // namespace model
