// Floating-point numbers of 16 bits, and how a result is rounded to one.
#pragma once

#include <cstdint>

namespace model {

struct NarrowFormat {
  int exponent_bits, fraction_bits;
  bool operator==(const NarrowFormat&) const = default;
};
inline constexpr NarrowFormat kFp16{5, 10};     // IEEE 754 binary16: __half
inline constexpr NarrowFormat kBfloat16{8, 7};  // the upper half of a float: __nv_bfloat16

// Where a number between two others goes: to the nearest (of two, the even one), or always one way.
enum class Toward { nearest, zero, above, below };

// The NaN that CUDA's operations on either format return.
inline constexpr std::uint16_t kNarrowNaN = 0x7fff;

std::uint16_t narrowed(double value, NarrowFormat format, Toward toward = Toward::nearest);
// The same for values without a double that equals them: two of which the sum is exact.
std::uint16_t narrowed_sum(double a, double b, NarrowFormat format);

// Exact. A NaN gets the bits 0x7fffffff.
float widened(std::uint16_t bits, NarrowFormat format);

std::uint16_t narrowed_add(std::uint16_t a, std::uint16_t b, NarrowFormat format);
// a * b + c with one rounding.
std::uint16_t narrowed_fma(std::uint16_t a, std::uint16_t b, std::uint16_t c, NarrowFormat format);

}  // namespace model
