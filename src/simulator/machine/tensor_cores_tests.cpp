#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "model/tensor_core.h"
#include "simulator/cuda/aligned_copies.h"
#include "simulator/cuda/instructions.h"
#include "simulator/machine/memory.h"

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
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(rounded(infinity) == infinity);
  CHECK(rounded(-infinity) == -infinity);
  for (const std::uint32_t nan : {0x7fffffffu, 0xffffffffu, 0x7f800001u, 0xffc00000u}) {
    CHECK(std::isnan(model::tf32_seen(rounded(std::bit_cast<float>(nan)))));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto bits = static_cast<std::uint32_t>(i % 2 == 0 ? random() : random() << 13 | 0x1000);
    const auto value = std::bit_cast<float>(bits);
    CAPTURE(bits);
    if (std::isnan(value)) continue;
    using model::kTf32Format, model::Toward;
    CHECK(cvt_rna_tf32(value) == rounded_to(kTf32Format, value, Toward::nearest_away) << 13);
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

namespace {

float of_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

std::uint16_t at(const AlignedMatrix& matrix, int row, int column) {
  const OpenDeviceMemory open(matrix.elements);
  return static_cast<const std::uint16_t*>(matrix.elements)[row * matrix.pitch_bytes / 2 + column];
}

}  // namespace

TEST_CASE("copies in bf16 are rounded to nearest, of two to the even one") {
  const std::vector<float> A = {of_bits(0x3f800000), of_bits(0x3f808000), of_bits(0x3f818000),
                                of_bits(0x3f808001), of_bits(0x3f817fff), of_bits(0x80000001),
                                of_bits(0x7f7fffff), of_bits(0xff800000), of_bits(0x7fc00001)};
  const std::vector<float> B(9, 1.0f);
  AlignedCopies copies;
  const AlignedCopies::Both& both = copies.of(A.data(), B.data(), 1, 1, 9, CopiedAs::bf16);
  const std::uint16_t expected[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x3f81,
                                    0x8000, 0x7f80, 0xff80, 0x7fff};
  CHECK(both.A.pitch_bytes == 32);
  for (int i = 0; i < 9; ++i) CHECK(at(both.A, 0, i) == expected[i]);
  for (int i = 0; i < 9; ++i) CHECK(at(both.B, i, 0) == 0x3f80);
}

TEST_CASE("copies in bf16 are made again for other matrices, and after forget()") {
  std::vector<float> A(4, 1.0f), B(4, 2.0f);
  AlignedCopies copies;
  copies.of(A.data(), B.data(), 2, 2, 2, CopiedAs::bf16);
  A[0] = 3;
  CHECK(
      at(copies.of(A.data(), B.data(), 2, 2, 2, CopiedAs::bf16).A, 0, 0) ==
      0x3f80);  // as they were
  copies.forget();
  CHECK(at(copies.of(A.data(), B.data(), 2, 2, 2, CopiedAs::bf16).A, 0, 0) == 0x4040);
  const std::vector<float> larger(64, 4.0f);
  const AlignedCopies::Both& both = copies.of(larger.data(), B.data(), 32, 2, 2, CopiedAs::bf16);
  CHECK(at(both.A, 31, 1) == 0x4080);
  CHECK(at(both.B, 1, 1) == 0x4000);
  CHECK(at(copies.of(A.data(), B.data(), 2, 2, 2, CopiedAs::bf16).A, 0, 0) == 0x4040);
}

}  // namespace machine
