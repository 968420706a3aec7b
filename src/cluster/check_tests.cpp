#include "cluster/check.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "cpu_reference.h"

namespace cluster {

namespace {

struct Product {
  Shape shape;
  std::vector<float> A, B, C;

  HostMatrices matrices() { return {A.data(), B.data(), C.data()}; }
  void multiply(float alpha, float beta) {
    openmp_gemm(shape.M, shape.N, shape.K, alpha, A.data(), B.data(), beta, C.data());
  }
  float& at(int row, int column) { return C[std::int64_t{row} * shape.N + column]; }
};

Product random_product(Shape shape) {
  std::mt19937 random(31);
  std::uniform_real_distribution<float> between(-1, 1);
  const auto filled = [&](std::int64_t rows, std::int64_t columns) {
    std::vector<float> values(rows * columns);
    for (float& value : values) value = between(random);
    return values;
  };
  return {shape, filled(shape.M, shape.K), filled(shape.K, shape.N), filled(shape.M, shape.N)};
}

using Parts = std::vector<std::pair<Part, Part>>;

Parts whole(Shape shape) {
  return {{{0, shape.M}, {0, shape.N}}};
}

}  // namespace

TEST_CASE("the check of a small C takes all rows, and finds any wrong element") {
  Product p = random_product({23, 31, 17});
  const Check check(p.shape, p.matrices(), 1, 0, 1);
  REQUIRE(check.rows() == 23);
  p.multiply(1, 0);
  CHECK(check.compare(whole(p.shape), model::kFp32).bound_ok);
  for (int row = 0; row < 23; row += 4) {
    for (int column = row % 5; column < 31; column += 5) {
      const float right = std::exchange(p.at(row, column), p.at(row, column) + 0.01F);
      const model::Error error = check.compare(whole(p.shape), model::kFp32);
      CHECK_FALSE(error.bound_ok);
      CHECK(error.max_abs == doctest::Approx(0.01).epsilon(0.01));
      REQUIRE(error.first);
      CHECK(error.first->row == row);
      CHECK(error.first->column == column);
      p.at(row, column) = right;
    }
  }
}

TEST_CASE("the check knows C before the product, and reads it only if beta is not 0") {
  Product p = random_product({23, 31, 17});
  const Check check(p.shape, p.matrices(), 2, -0.5, 1);
  p.multiply(2, -0.5);
  CHECK(check.compare(whole(p.shape), model::kFp32).bound_ok);
  p.at(3, 4) += 0.01F;
  CHECK_FALSE(check.compare(whole(p.shape), model::kFp32).bound_ok);

  for (float& c : p.C) c = std::numeric_limits<float>::quiet_NaN();
  const Check without(p.shape, p.matrices(), 2, 0, 1);
  CHECK_FALSE(without.compare(whole(p.shape), model::kFp32).bound_ok);
  p.multiply(2, 0);
  CHECK(without.compare(whole(p.shape), model::kFp32).bound_ok);
}

TEST_CASE("an element may be as far off as its own row of C before the product allows") {
  Product p = random_product({23, 31, 17});
  for (int column = 0; column < 31; ++column) p.at(20, column) = 1e6F;
  const Check check(p.shape, p.matrices(), 1, 1, 1);
  p.multiply(1, 1);
  CHECK(check.compare(whole(p.shape), model::kFp32).bound_ok);
}

TEST_CASE("the check takes the factor alpha") {
  Product p = random_product({8, 8, 8});
  const Check check(p.shape, p.matrices(), 2, 0, 1);
  p.multiply(1, 0);
  CHECK_FALSE(check.compare(whole(p.shape), model::kFp32).bound_ok);
}

TEST_CASE("only the parts of this process are compared, and a wrong element has its place in C") {
  Product p = random_product({20, 30, 10});
  const Check check(p.shape, p.matrices(), 1, 1, 1);
  p.multiply(1, 1);
  p.at(12, 20) += 1;
  const Part upper{0, 10}, lower{10, 10}, left{0, 15}, right{15, 15};
  for (const Parts& without : {Parts{{upper, left}}, Parts{{upper, right}, {lower, left}}}) {
    CHECK(check.compare(without, model::kFp32).bound_ok);
  }
  for (const Parts& with :
       {Parts{{lower, right}}, Parts{{upper, left}, {lower, right}},
        Parts{{lower, right}, {upper, left}}}) {
    const model::Error error = check.compare(with, model::kFp32);
    CHECK_FALSE(error.bound_ok);
    REQUIRE(error.first);
    CHECK(error.first->row == 12);
    CHECK(error.first->column == 20);
    CHECK(error.max_abs == doctest::Approx(1).epsilon(0.001));
  }
}

TEST_CASE("of a large C, as many random rows are checked as take a few seconds, and at least 16") {
  // One of its rows takes 2^28 multiplications.
  constexpr int kRows = 60, kColumns = 1 << 14, kDepth = 1 << 14;
  const auto rows_of = [&](Shape shape) { return Check(shape, {}, 1, 0, 1).rows(); };
  CHECK(rows_of({kRows, kColumns, kDepth}) == 32);
  CHECK(rows_of({kRows, 1 << 30, 1 << 30}) == 16);
  CHECK(rows_of({5, 1 << 30, 1 << 30}) == 5);
  CHECK(rows_of({kRows, 1, 1}) == kRows);
  CHECK(rows_of({0, 5, 5}) == 0);
  CHECK(rows_of({9, 0, 0}) == 9);
}

TEST_CASE("an empty product is right") {
  for (const Shape shape : {Shape{0, 5, 5}, Shape{5, 0, 5}, Shape{0, 0, 0}}) {
    Product p = random_product(shape);
    CHECK(Check(shape, p.matrices(), 1, 1, 1).compare(whole(shape), model::kFp32).bound_ok);
  }
  Product p = random_product({5, 5, 0});
  const Check check(p.shape, p.matrices(), 1, 2, 1);
  CHECK_FALSE(check.compare(whole(p.shape), model::kFp32).bound_ok);
  p.multiply(1, 2);
  CHECK(check.compare(whole(p.shape), model::kFp32).bound_ok);
}

}  // namespace cluster
