#include "cuda/bf16_copies.h"

#include <doctest/doctest.h>

#include <bit>
#include <vector>

#include "machine/device_memory.h"

namespace machine {
namespace {

float of_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

std::uint16_t at(const Bf16Matrix& matrix, int row, int column) {
  const OpenDeviceMemory open(matrix.elements);
  return matrix.elements[row * matrix.pitch_bytes / 2 + column];
}

}  // namespace

TEST_CASE("copies in bf16 are rounded to nearest, of two to the even one") {
  const std::vector<float> A = {of_bits(0x3f800000), of_bits(0x3f808000), of_bits(0x3f818000),
                                of_bits(0x3f808001), of_bits(0x3f817fff), of_bits(0x80000001),
                                of_bits(0x7f7fffff), of_bits(0xff800000), of_bits(0x7fc00001)};
  const std::vector<float> B(9, 1.0f);
  Bf16Copies copies;
  const Bf16Copies::Both& both = copies.of(A.data(), B.data(), 1, 1, 9);
  const std::uint16_t expected[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x3f81,
                                    0x8000, 0x7f80, 0xff80, 0x7fff};
  for (int i = 0; i < 9; ++i) CHECK(at(both.A, 0, i) == expected[i]);
  for (int i = 0; i < 9; ++i) CHECK(at(both.B, i, 0) == 0x3f80);
}

TEST_CASE("rows of a copy in bf16 start at multiples of 16 bytes") {
  std::vector<float> A(3 * 5), B(5 * 11);
  for (int i = 0; i < 15; ++i) A[i] = static_cast<float>(i);
  for (int i = 0; i < 55; ++i) B[i] = static_cast<float>(-i);
  Bf16Copies copies;
  const Bf16Copies::Both& both = copies.of(A.data(), B.data(), 3, 11, 5);
  CHECK(both.A.pitch_bytes == 16);
  CHECK(both.B.pitch_bytes == 32);
  const auto bits = [](float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  };
  for (int k = 0; k < 5; ++k) {
    for (int m = 0; m < 3; ++m) CHECK(at(both.A, m, k) == bits(A[m * 5 + k]));
    for (int n = 0; n < 11; ++n) CHECK(at(both.B, k, n) == bits(B[k * 11 + n]));
  }
}

TEST_CASE("copies in bf16 are made again for other matrices, and after forget()") {
  std::vector<float> A(4, 1.0f), B(4, 2.0f);
  Bf16Copies copies;
  copies.of(A.data(), B.data(), 2, 2, 2);
  A[0] = 3;
  CHECK(at(copies.of(A.data(), B.data(), 2, 2, 2).A, 0, 0) == 0x3f80);  // as they were
  copies.forget();
  CHECK(at(copies.of(A.data(), B.data(), 2, 2, 2).A, 0, 0) == 0x4040);
  const std::vector<float> larger(64, 4.0f);
  const Bf16Copies::Both& both = copies.of(larger.data(), B.data(), 32, 2, 2);
  CHECK(at(both.A, 31, 1) == 0x4080);
  CHECK(at(both.B, 1, 1) == 0x4000);
  CHECK(at(copies.of(A.data(), B.data(), 2, 2, 2).A, 0, 0) == 0x4040);
}

}  // namespace machine
