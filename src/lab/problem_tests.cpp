#include "lab/problem.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace lab {

namespace {

constexpr int kM = 70, kN = 90, kK = 50;

Problem problem_with(Data data, std::uint64_t seed = 1) {
  Problem p = random_problem({kM, kN, kK}, 1, 0, seed);
  distribute(data, seed, p);
  return p;
}

double mean(const Floats& values, double power) {
  double sum = 0;
  for (const float value : values) sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("normal data have mean 0, deviation 1 and a normal distribution's tails") {
  const Problem p = problem_with(Data::normal);
  for (const Floats* values : {&p.A, &p.B}) {
    CHECK(std::fabs(mean(*values, 1)) < 0.06);
    CHECK(std::fabs(mean(*values, 2) - 1) < 0.1);
    CHECK(std::fabs(mean(*values, 4) - 3) < 0.6);
    CHECK(std::count_if(values->begin(), values->end(), [](float x) { return x > 2; }) > 30);
    for (const float value : *values) CHECK(std::isfinite(value));
  }
}

TEST_CASE("positive data are in [0, 1), and uniform data are not changed") {
  const Problem uniform = random_problem({kM, kN, kK}, 1, 0, 1);
  CHECK(problem_with(Data::uniform).A == uniform.A);
  const Problem p = problem_with(Data::positive);
  for (const Floats* values : {&p.A, &p.B}) {
    const auto [least, most] = std::minmax_element(values->begin(), values->end());
    CHECK(*least >= 0);
    CHECK(*least < 0.01);
    CHECK(*most < 1);
    CHECK(*most > 0.99);
  }
}

TEST_CASE("relu data are uniform data with 0 for what is negative") {
  const Problem uniform = random_problem({kM, kN, kK}, 1, 0, 1), relu = problem_with(Data::relu);
  for (std::size_t i = 0; i < relu.A.size(); ++i) CHECK(relu.A[i] == std::fmax(uniform.A[i], 0));
}

TEST_CASE("wide data are uniform data times powers of two from -20 to 20") {
  const Problem uniform = random_problem({kM, kN, kK}, 1, 0, 1);
  for (const Data data : {Data::wide, Data::wide_k}) {
    const Problem p = problem_with(data);
    std::set<double> exponents;
    for (std::size_t i = 0; i < p.A.size(); ++i) {
      const double exponent = std::log2(p.A[i] / uniform.A[i]);
      CHECK(exponent == std::round(exponent));
      exponents.insert(exponent);
      // Of each index of K, the column of A and the row of B.
      const auto k = static_cast<int>(i) % kK;
      const double of_b = std::log2(p.B[k * kN] / uniform.B[k * kN]);
      if (data == Data::wide_k) CHECK(exponent == of_b);
    }
    CHECK(*exponents.begin() >= -20);
    CHECK(*exponents.rbegin() <= 20);
    CHECK(exponents.size() > (data == Data::wide ? 40u : 20u));
  }
}

TEST_CASE("the same seed gives the same data, and A and B differ") {
  for (const Data data : {Data::normal, Data::wide, Data::wide_k}) {
    CHECK(problem_with(data).A == problem_with(data).A);
    CHECK(problem_with(data).A != problem_with(data, 2).A);
    CHECK(!std::equal(
        problem_with(data).A.begin(), problem_with(data).A.begin() + 50,
        problem_with(data).B.begin()));
  }
}

TEST_CASE("a request's data reach its matrices") {
  Request request;
  request.m = kM;
  request.n = kN;
  request.k = kK;
  for (const Data data : {Data::uniform, Data::normal, Data::wide_k}) {
    CAPTURE(name_of(data));
    request.data = data;
    const Problem p = load_problem(request, false), expected = problem_with(data);
    CHECK(p.A == expected.A);
    CHECK(p.B == expected.B);
  }
}

}  // namespace lab
