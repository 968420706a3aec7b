// wgmma's 64-bit descriptor of an operand in shared memory. PTX ISA 9.0, "Matrix descriptor
// format" of wgmma.
#pragma once

#include <cstdint>

#include "model/swizzle.h"

namespace model {

// All four are in bytes, and multiples of 16. The operand is "K-major": the elements of a row, with
// neighbouring k, are neighbours in memory.
struct MatrixDescriptor {
  std::uint32_t start;    // of the first row, for k = 0
  std::uint32_t leading;  // without a swizzle: from one column of 16 bytes to the next
  std::uint32_t stride;   // from eight rows to the next eight
  int base_offset;        // 0 if each eight rows start at a multiple of their size
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

}  // namespace model
