// wgmma's 64-bit descriptor of an operand in shared memory. PTX ISA 9.0, "Matrix descriptor
// format" of wgmma.
#pragma once

#include <cstdint>

#include "model/swizzle.h"

namespace model {

// What is contiguous in memory: in a "K-major" operand the elements of a row of A or a column of B,
// with neighbouring k; in an "MN-major" one those of a column of A or a row of B, with the same k.
enum class Major : bool { k, mn };

// All four are in bytes, and multiples of 16. The rows are those of A, or the columns of B.
struct MatrixDescriptor {
  std::uint32_t start;  // of the first row, for k = 0
  // K-major: without a swizzle, from one column of 16 bytes to the next. MN-major: from one span of
  // the swizzle to the next; without a swizzle, from eight k to the next eight.
  std::uint32_t leading;
  // K-major: from eight rows to the next eight. MN-major: from eight k to the next eight; without a
  // swizzle, from eight rows to the next eight.
  std::uint32_t stride;
  int base_offset;  // 0 if each eight rows start at a multiple of their size
  Swizzle swizzle;
};

constexpr MatrixDescriptor decoded(std::uint64_t descriptor) {
  const auto address = [&](int bit) {
    return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4;
  };
  // 1, 2, 3 are spans of 128, 64 and 32 bytes.
  const auto mode = static_cast<int>(descriptor >> 62);
  return {
      address(0), address(16), address(32), static_cast<int>(descriptor >> 49 & 7),
      static_cast<Swizzle>(mode == 0 ? 0 : 4 - mode)};
}

constexpr std::uint64_t encoded(const MatrixDescriptor& matrix) {
  const auto field = [](std::uint32_t bytes, int bit) {
    return static_cast<std::uint64_t>(bytes >> 4 & 0x3fff) << bit;
  };
  const auto span = static_cast<int>(matrix.swizzle);
  return field(matrix.start, 0) | field(matrix.leading, 16) | field(matrix.stride, 32) |
         static_cast<std::uint64_t>(matrix.base_offset & 7) << 49 |
         static_cast<std::uint64_t>(span == 0 ? 0 : 4 - span) << 62;
}

// The shared address of byte `byte` (k times the element's size) of row `row`. The swizzle uses the
// bits of the address itself, so the start may lie anywhere within the first row.
constexpr std::uint32_t address_in(const MatrixDescriptor& matrix, int row, int byte) {
  const std::uint32_t eights = matrix.start + row / 8 * matrix.stride;
  if (matrix.swizzle == Swizzle::none) {
    return eights + row % 8 * 16 + byte / 16 * matrix.leading + byte % 16;
  }
  return swizzled(eights + row % 8 * span_of(matrix.swizzle) + byte, matrix.swizzle);
}

// The same in an MN-major operand, whose elements have 16 bits.
constexpr std::uint32_t address_in_transposed(const MatrixDescriptor& matrix, int row, int k) {
  const int byte = 2 * row;
  if (matrix.swizzle == Swizzle::none) {
    return matrix.start + byte / 16 * matrix.stride + k / 8 * matrix.leading + k % 8 * 16 +
           byte % 16;
  }
  const int span = span_of(matrix.swizzle);
  return swizzled(
      matrix.start + byte / span * matrix.leading + k / 8 * matrix.stride + k % 8 * span +
          byte % span,
      matrix.swizzle);
}

}  // namespace model
