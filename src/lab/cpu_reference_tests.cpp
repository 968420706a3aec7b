#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cpu_reference.h"

namespace lab {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_matrix(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> matrix(rows * columns);
  for (float& x : matrix) x = value(engine);
  return matrix;
}

struct Product {
  std::vector<double> exact, magnitude;
};

// One double per element, summed in the order of the definition.
Product naive_product(
    int M, int N, int K, float alpha, const std::vector<float>& A, const std::vector<float>& B,
    float beta, const std::vector<float>& C) {
  Product product{std::vector<double>(M * N), std::vector<double>(M * N)};
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < K; ++k) {
        sum += double(A[i * K + k]) * B[k * N + j];
        magnitude += std::abs(double(A[i * K + k]) * B[k * N + j]);
      }
      product.exact[i * N + j] = alpha * sum + (beta == 0 ? 0 : double(beta) * C[i * N + j]);
      product.magnitude[i * N + j] = std::abs(alpha) * magnitude;
    }
  }
  return product;
}

using Gemm = decltype(&serial_gemm);

// The largest |C - exact| of a run, in units of the fp32 error bound; 1 is the bound.
double worst_error(Gemm gemm, int M, int N, int K, float alpha, float beta) {
  const std::vector<float> A = random_matrix(M, K, 1), B = random_matrix(K, N, 2);
  const std::vector<float> C0 = random_matrix(M, N, 3);
  const Product product = naive_product(M, N, K, alpha, A, B, beta, C0);
  std::vector<float> C = C0;
  gemm(M, N, K, alpha, A.data(), B.data(), beta, C.data());
  double worst = 0;
  for (std::size_t at = 0; at < C.size(); ++at) {
    const double bound = 0x1p-24 * 1.01 * (K + 2) * product.magnitude[at] +
                         0x1p-24 * 2.01 * std::abs(double(beta) * C0[at]) + 1e-40;
    worst = std::max(worst, std::abs(C[at] - product.exact[at]) / bound);
  }
  return worst;
}

struct Shape {
  int M, N, K;
};

// Sizes around the tiles (12 x 32 in fp32, 12 x 16 in fp64), the blocks (96 x 512 and 96 x 256)
// and the depth of 256.
const Shape kShapes[] = {
    {1, 1, 1},      {2, 3, 5},      {35, 79, 19},  {127, 129, 65}, {1, 300, 7},    {300, 1, 7},
    {11, 15, 255},  {12, 16, 256},  {13, 17, 257}, {191, 255, 3},  {192, 256, 4},  {193, 257, 5},
    {195, 511, 31}, {13, 513, 300}, {385, 40, 33}, {1, 1, 1000},   {97, 101, 103}, {7, 1031, 2},
    {5, 7, 0},      {400, 530, 9},  {64, 64, 520}, {1, 1200, 260}, {12, 32, 256},  {23, 33, 511},
    {25, 31, 513},  {96, 512, 8},
};

}  // namespace

TEST_CASE("the serial loop and the OpenMP product stay within the fp32 bound on every shape") {
  for (const Shape& s : kShapes) {
    for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, {-0.75f, 2.5f}, {0.0f, 3.0f}}) {
      CAPTURE(s.M);
      CAPTURE(s.N);
      CAPTURE(s.K);
      CAPTURE(alpha);
      CHECK(worst_error(serial_gemm, s.M, s.N, s.K, alpha, beta) <= 1);
      CHECK(worst_error(openmp_gemm, s.M, s.N, s.K, alpha, beta) <= 1);
    }
  }
}

TEST_CASE("the reference equals naive double loops on every shape") {
  for (const Shape& s : kShapes) {
    for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, {-0.75f, 2.5f}}) {
      CAPTURE(s.M);
      CAPTURE(s.N);
      CAPTURE(s.K);
      const std::vector<float> A = random_matrix(s.M, s.K, 1), B = random_matrix(s.K, s.N, 2);
      const std::vector<float> C = random_matrix(s.M, s.N, 3);
      const Product product = naive_product(s.M, s.N, s.K, alpha, A, B, beta, C);
      std::vector<double> exact(C.size(), -1), magnitude(C.size(), -1);
      std::int64_t finished = 0;
      const auto count = [&](std::int64_t products) {
#pragma omp atomic
        finished += products;
      };
      reference_gemm(s.M, s.N, s.K, alpha, A.data(), B.data(), beta, C.data(), exact.data(), count);
      reference_magnitude(s.M, s.N, s.K, s.K, alpha, A.data(), B.data(), magnitude.data(), count);
      double worst = 0;
      for (std::size_t at = 0; at < C.size(); ++at) {
        const double scale = product.magnitude[at] + std::abs(beta * C[at]) + 1e-300;
        worst = std::max(worst, std::abs(exact[at] - product.exact[at]) / scale);
        worst = std::max(worst, std::abs(magnitude[at] - product.magnitude[at]) / scale);
      }
      CHECK(worst <= 1e-13);
      CHECK(finished == 2 * std::int64_t{s.M} * s.N * s.K);
    }
  }
}

TEST_CASE("a magnitude of fewer terms is that of the first columns of A and rows of B") {
  constexpr int M = 30, N = 70, K = 600, kTerms = 300;
  const std::vector<float> A = random_matrix(M, K, 1), B = random_matrix(K, N, 2);
  std::vector<float> first_of_A;
  for (int i = 0; i < M; ++i) {
    first_of_A.insert(first_of_A.end(), A.begin() + i * K, A.begin() + i * K + kTerms);
  }
  const Product product =
      naive_product(M, N, kTerms, -2, first_of_A, B, 0, std::vector<float>(M * N));
  std::vector<double> magnitude(M * N);
  reference_magnitude(M, N, K, kTerms, -2, A.data(), B.data(), magnitude.data());
  for (int at = 0; at < M * N; ++at) {
    CHECK(magnitude[at] == doctest::Approx(product.magnitude[at]).epsilon(1e-13));
  }
}

TEST_CASE("an empty product writes nothing, and K = 0 gives beta*C") {
  for (Gemm gemm : {serial_gemm, openmp_gemm}) {
    float C[4] = {1, 2, 3, 4};
    gemm(0, 4, 3, 1, nullptr, nullptr, 2, C);
    gemm(4, 0, 3, 1, nullptr, nullptr, 2, C);
    CHECK(C[0] == 1);
    CHECK(C[3] == 4);
    gemm(2, 2, 0, 1, nullptr, nullptr, 2, C);
    CHECK(C[0] == 2);
    CHECK(C[3] == 8);
  }
}

TEST_CASE("beta = 0 does not read C, and alpha = 0 reads neither A nor B") {
  for (Gemm gemm : {serial_gemm, openmp_gemm}) {
    const float A[] = {1, 2}, B[] = {3, 4};
    float C = kNan;
    gemm(1, 1, 2, 1, A, B, 0, &C);
    CHECK(C == 11);
    gemm(1, 1, 2, 0, nullptr, nullptr, 0.5f, &C);
    CHECK(C == 5.5f);
    C = kNan;
    gemm(1, 1, 2, 0, nullptr, nullptr, 0, &C);
    CHECK(C == 0);
  }
  double exact = kNan, magnitude = kNan;
  reference_gemm(1, 1, 2, 0, nullptr, nullptr, 0, nullptr, &exact);
  reference_magnitude(1, 1, 2, 2, 0, nullptr, nullptr, &magnitude);
  CHECK(exact == 0);
  CHECK(magnitude == 0);
}

TEST_CASE("a NaN in A reaches its row, one in B its column, and no other element") {
  constexpr int kSize = 37, kRow = 11, kColumn = 16;
  std::vector<float> A = random_matrix(kSize, kSize, 1), B = random_matrix(kSize, kSize, 2);
  A[kRow * kSize + 5] = kNan;
  B[30 * kSize + kColumn] = std::numeric_limits<float>::infinity();
  B[31 * kSize + kColumn] = -std::numeric_limits<float>::infinity();
  A[3 * kSize + 30] = A[3 * kSize + 31] = 1;  // row 3 adds both infinities
  std::vector<float> serial(kSize * kSize), openmp(kSize * kSize);
  std::vector<double> exact(kSize * kSize);
  serial_gemm(kSize, kSize, kSize, 1, A.data(), B.data(), 0, serial.data());
  openmp_gemm(kSize, kSize, kSize, 1, A.data(), B.data(), 0, openmp.data());
  reference_gemm(kSize, kSize, kSize, 1, A.data(), B.data(), 0, nullptr, exact.data());
  for (int at = 0; at < kSize * kSize; ++at) {
    const int row = at / kSize, column = at % kSize;
    CAPTURE(row);
    CAPTURE(column);
    CHECK(std::isfinite(openmp[at]) == (row != kRow && column != kColumn));
    CHECK(std::isnan(openmp[at]) == std::isnan(serial[at]));
    CHECK(std::isnan(exact[at]) == std::isnan(serial[at]));
  }
  CHECK(std::isnan(openmp[3 * kSize + kColumn]));
}

TEST_CASE("the number of threads does not change any bit of the result") {
  constexpr int M = 401, N = 531, K = 1100;
  const std::vector<float> A = random_matrix(M, K, 1), B = random_matrix(K, N, 2);
  const int before = omp_get_max_threads();
  std::vector<float> first_C;
  std::vector<double> first_exact;
  for (int threads : {1, 2, 3, 7}) {
    omp_set_num_threads(threads);
    std::vector<float> C = random_matrix(M, N, 3);
    std::vector<double> exact(M * N);
    openmp_gemm(M, N, K, 1.5f, A.data(), B.data(), 0.5f, C.data());
    reference_gemm(M, N, K, 1.5f, A.data(), B.data(), 0, nullptr, exact.data());
    if (threads == 1) {
      first_C = C;
      first_exact = exact;
    }
    CHECK(std::memcmp(C.data(), first_C.data(), C.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(exact.data(), first_exact.data(), exact.size() * sizeof(double)) == 0);
  }
  omp_set_num_threads(before);
}

TEST_CASE("the serial loop computes only the requested rows") {
  const std::vector<float> A = random_matrix(6, 3, 1), B = random_matrix(3, 5, 2);
  std::vector<float> whole(30), part(30, 7);
  serial_gemm(6, 5, 3, 1, A.data(), B.data(), 0, whole.data());
  serial_gemm(2, 5, 3, 1, A.data() + 2 * 3, B.data(), 0, part.data() + 2 * 5);
  for (int at = 0; at < 30; ++at) CHECK(part[at] == (at / 5 == 2 || at / 5 == 3 ? whole[at] : 7));
}

}  // namespace lab
