// The arithmetic of a tensor core: products of tf32 numbers added to an fp32 number.
#pragma once

#include <cstdint>
#include <span>

namespace model {

// A tensor core adds `products` products and the accumulator at once. It shifts every term to the
// largest exponent among them, cuts off what lies more than `fraction_bits` binary places below
// that exponent's 1, adds the rest exactly, and cuts the sum to 24 bits: it never rounds. A longer
// dot product takes several such steps. Measured bit by bit in "MMA-Sim: Bit-accurate reference
// model of tensor cores and matrix cores" (2025) and, for sm_90, on an H200 by
// src/trace/hopper_checks.cu.
struct TensorCore {
  int fraction_bits;
  int products;
};
inline constexpr TensorCore kAmpereTensorCore{24, 4};  // and Ada
inline constexpr TensorCore kHopperTensorCore{25, 8};
// The same for f16 and bf16 numbers: twice as many products at once ("MMA-Sim"; not measured here).
inline constexpr TensorCore kHopperTensorCoreOfHalves{25, 16};

// The tf32 number that a tensor core sees in these bits of a float: it ignores the last 13.
float tf32_seen(float value);

// What the copy engine makes of a float on its way to shared memory, if the tensor map says that
// the elements are tf32: it rounds to nearest, and to even if two are equally near. A NaN gets the
// bits 0x7fffe000. Measured on an H200 by src/trace/hopper_checks.cu.
float tf32_copied(float value);

// A factor of a tensor core's products, taken apart once to be used in many of them. Its
// significand has ten binary places, and its exponent is that of the significand's 1.
struct TensorCoreFactor {
  std::int32_t significand;
  int exponent;
  float value = 0;
  bool special = false;  // infinite or a NaN
};
TensorCoreFactor factor_of_tf32(float value);
TensorCoreFactor factor_of_f16(std::uint16_t bits);
TensorCoreFactor factor_of_bf16(std::uint16_t bits);

float tensor_core_dot(
    std::span<const TensorCoreFactor> a, std::span<const TensorCoreFactor> b, float c,
    TensorCore core);
// The same with an accumulator of 16 bits: the sum is rounded to the nearest f16 ("MMA-Sim"; not
// measured here).
std::uint16_t tensor_core_dot_f16(
    std::span<const TensorCoreFactor> a, std::span<const TensorCoreFactor> b, std::uint16_t c,
    TensorCore core);

// c + a[0] * b[0] + a[1] * b[1] + ..., with the operands as tf32. A NaN has the bits 0x7fffffff.
float tensor_core_dot(std::span<const float> a, std::span<const float> b, float c, TensorCore core);

}  // namespace model
