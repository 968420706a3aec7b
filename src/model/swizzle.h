// The swizzles of the copy engine (TMA) and of wgmma: which 16 bytes of shared memory hold which 16
// bytes of a tile. PTX ISA 9.0, "Swizzling modes" of tensors.
#pragma once

#include <cstdint>

namespace model {

// The rows of a tile are as long as the swizzle's span. The numbers are those of the CUDA driver's
// CUtensorMapSwizzle.
enum class Swizzle { none, span_32, span_64, span_128 };

constexpr int span_of(Swizzle swizzle) {
  return 16 << static_cast<int>(swizzle);
}

// The bits of an address that number the 16 bytes within the span, XORed with as many bits from bit
// 7 on. So eight rows of 128 bytes have each column in eight different groups of four banks.
constexpr std::uint32_t swizzled(std::uint32_t address, Swizzle swizzle) {
  const std::uint32_t pieces_in_span = 1u << static_cast<int>(swizzle);
  return address ^ (address >> 7 & (pieces_in_span - 1)) << 4;
}

}  // namespace model
