// Floating-point numbers of 16, 19 and 32 bits, and how a result is rounded to one.
#pragma once

#include <cstdint>

namespace model {

struct NarrowFormat {
  int exponent_bits, fraction_bits;
  bool operator==(const NarrowFormat&) const = default;
};
inline constexpr NarrowFormat kFp16{5, 10};        // IEEE 754 binary16: __half
inline constexpr NarrowFormat kBfloat16{8, 7};     // the upper half of a float: __nv_bfloat16
inline constexpr NarrowFormat kTf32Format{8, 10};  // the first 19 bits of a float
inline constexpr NarrowFormat kFp32Format{8, 23};

// Where a number between two others goes: to the nearest (of two, the even one, or the one that is
// farther from zero), or always one way.
enum class Toward { nearest, nearest_away, zero, above, below };

// The NaN that CUDA's operations on either format return.
inline constexpr std::uint16_t kNarrowNaN = 0x7fff;

// The number's bits. A NaN has no sign, and all bits of its fraction are set.
std::uint32_t rounded_to(NarrowFormat format, double value, Toward toward = Toward::nearest);
inline std::uint16_t narrowed(double value, NarrowFormat format, Toward toward = Toward::nearest) {
  return static_cast<std::uint16_t>(rounded_to(format, value, toward));
}

// The same for a + b, which need not fit a double. It is rounded once.
std::uint16_t narrowed_sum(double a, double b, NarrowFormat format);

// Exact. A NaN gets the bits 0x7fffffff.
float widened(std::uint16_t bits, NarrowFormat format);

std::uint16_t narrowed_add(std::uint16_t a, std::uint16_t b, NarrowFormat format);
// a * b + c with one rounding.
std::uint16_t narrowed_fma(std::uint16_t a, std::uint16_t b, std::uint16_t c, NarrowFormat format);

// A float as the sum of two tf32 numbers: its first 11 bits, cut off as a tensor core does it, and
// the rest, rounded to the nearest (of two, the one farther from zero). What is left is at most
// 2^-22 of x, unless the rest is below the normal numbers of fp32.
struct TwoTf32 {
  float high, low;
};
TwoTf32 split_into_tf32(float x);

// `value` as an integer.
double rounded_to_integer(double value, Toward toward);

}  // namespace model
