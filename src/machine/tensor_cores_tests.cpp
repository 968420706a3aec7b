#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "cuda/instructions.h"
#include "model/tensor_core.h"

namespace machine {

namespace {

float rounded(float value) {
  return std::bit_cast<float>(cvt_rna_tf32(value));
}

// The mean of (product of tensor cores - exact) / exact over sums of 256 positive products.
double mean_error(bool round) {
  constexpr int kSums = 100, kProducts = 256;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> unit(0, 1);
  double error = 0;
  for (int sum = 0; sum < kSums; ++sum) {
    std::vector<float> a, b;
    double exact = 0;
    for (int k = 0; k < kProducts; ++k) {
      const float x = unit(random), y = unit(random);
      exact += static_cast<double>(x) * y;
      a.push_back(round ? rounded(x) : x);
      b.push_back(round ? rounded(y) : y);
    }
    error += (model::tensor_core_dot(a, b, 0, model::kHopperTensorCore) - exact) / exact;
  }
  return error / kSums;
}

}  // namespace

TEST_CASE("cvt.rna rounds to the nearest tf32, and away from zero if two are equally near") {
  CHECK(rounded(1.0f) == 1.0f);
  CHECK(rounded(1 + 0x1p-11f) == 1 + 0x1p-10f);
  CHECK(rounded(-1 - 0x1p-11f) == -1 - 0x1p-10f);
  CHECK(rounded(1 + 0x1p-11f - 0x1p-23f) == 1.0f);
  CHECK(rounded(1 + 3 * 0x1p-11f) == 1 + 0x1p-9f);
  CHECK(rounded(0x1p-140f) == 0);
  CHECK(std::signbit(rounded(-0.0f)));
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnormal(value) || std::isinf(rounded(value))) continue;
    CHECK(std::abs(double{rounded(value)} - value) <= 0x1p-11 * std::abs(double{value}));
    CHECK((std::bit_cast<std::uint32_t>(rounded(value)) & 0x1fff) == 0);
  }
}

TEST_CASE("cvt.rna keeps what is not finite, and rounds the largest float to infinity") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(rounded(infinity) == infinity);
  CHECK(rounded(-infinity) == -infinity);
  CHECK(rounded(std::numeric_limits<float>::max()) == infinity);
  for (const std::uint32_t nan : {0x7fffffffu, 0xffffffffu, 0x7f800001u, 0xffc00000u}) {
    CHECK(std::isnan(model::tf32_seen(rounded(std::bit_cast<float>(nan)))));
  }
}

TEST_CASE("operands that are cut off make every sum too small, and rounded ones do not") {
  // An operand loses 2^-12 of its power of two on average, and a product has two of them.
  CHECK(mean_error(false) < -5e-4);
  CHECK(mean_error(false) > -1e-3);
  CHECK(std::abs(mean_error(true)) < 2e-5);
  // What is left is the accumulator's own: it cuts off every sum.
  CHECK(mean_error(true) < 1e-5);
}

}  // namespace machine
