#include "model/matrix_descriptor.h"

#include <doctest/doctest.h>

#include <set>

namespace model {

TEST_CASE("a matrix descriptor has its fields where the PTX ISA puts them") {
  const MatrixDescriptor matrix{0x12340, 16, 1024, 0, Swizzle::span_128};
  CHECK(encoded(matrix) == (0x1234ull | 1ull << 16 | 64ull << 32 | 1ull << 62));
  for (const Swizzle swizzle :
       {Swizzle::none, Swizzle::span_32, Swizzle::span_64, Swizzle::span_128}) {
    const MatrixDescriptor other{0x3fff0, 0x120, 0x2340, 5, swizzle};
    const MatrixDescriptor back = decoded(encoded(other));
    CHECK(back.start == other.start);
    CHECK(back.leading == other.leading);
    CHECK(back.stride == other.stride);
    CHECK(back.base_offset == other.base_offset);
    CHECK(back.swizzle == other.swizzle);
  }
}

TEST_CASE("a swizzle moves 16 bytes within their span, and is its own inverse") {
  for (const Swizzle swizzle : {Swizzle::span_32, Swizzle::span_64, Swizzle::span_128}) {
    const auto span = static_cast<std::uint32_t>(span_of(swizzle));
    std::set<std::uint32_t> reached;
    for (std::uint32_t address = 0; address < 4096; address += 4) {
      const std::uint32_t to = swizzled(address, swizzle);
      CHECK(to / span == address / span);
      CHECK(to % 16 == address % 16);
      CHECK(swizzled(to, swizzle) == address);
      reached.insert(to);
    }
    CHECK(reached.size() == 1024);
  }
  CHECK(swizzled(0x3f0, Swizzle::none) == 0x3f0);
}

TEST_CASE("with a 128-byte swizzle eight rows have a column in all banks") {
  const MatrixDescriptor matrix{2048, 16, 1024, 0, Swizzle::span_128};
  std::set<std::uint32_t> banks;
  for (int row = 0; row < 8; ++row) {
    for (int byte = 0; byte < 16; byte += 4) {
      banks.insert(address_in(matrix, row, 32 + byte) / 4 % 32);
    }
  }
  CHECK(banks.size() == 32);
  // Row 3, k = 5: the second piece of 16 bytes, moved to piece 1 XOR 3.
  CHECK(address_in(matrix, 3, 20) == 2048 + 3 * 128 + (1 ^ 3) * 16 + 4);
  CHECK(address_in(matrix, 11, 20) == 2048 + 1024 + 3 * 128 + (1 ^ 3) * 16 + 4);
}

TEST_CASE("the rows of a row-major matrix in boxes are those of k of an MN-major operand") {
  // Boxes of 64 rows with 64 elements of 16 bits, 8192 bytes apart. Eight rows have 1024 bytes.
  const MatrixDescriptor matrix{4096, 8192, 1024, 0, Swizzle::span_128};
  for (int k = 0; k < 16; ++k) {
    for (int n = 0; n < 256; ++n) {
      const std::uint32_t place = 4096 + n / 64 * 8192 + k * 128 + n % 64 * 2;
      CHECK(address_in_transposed(matrix, n, k) == swizzled(place, Swizzle::span_128));
    }
  }
  // Column 75, k = 9: the second piece of 16 bytes in row 9 of the second box, moved to 1 XOR 1.
  CHECK(address_in_transposed(matrix, 75, 9) == 4096 + 8192 + 9 * 128 + 0 * 16 + 6);
  // Without a swizzle, matrices of eight k with eight elements, 16 bytes each.
  const MatrixDescriptor plain{256, 128, 512, 0, Swizzle::none};
  CHECK(address_in_transposed(plain, 0, 0) == 256);
  CHECK(address_in_transposed(plain, 3, 1) == 256 + 16 + 6);
  CHECK(address_in_transposed(plain, 8, 0) == 256 + 512);
  CHECK(address_in_transposed(plain, 1, 9) == 256 + 128 + 16 + 2);
}

TEST_CASE("without a swizzle an operand is made of matrices of eight rows of 16 bytes") {
  const MatrixDescriptor matrix{256, 128, 512, 0, Swizzle::none};
  CHECK(address_in(matrix, 0, 0) == 256);
  CHECK(address_in(matrix, 1, 0) == 272);
  CHECK(address_in(matrix, 1, 16) == 272 + 128);
  CHECK(address_in(matrix, 9, 20) == 256 + 512 + 16 + 128 + 4);
}

}  // namespace model
