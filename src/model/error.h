// How far a computed C may be from the exact one, and how far it is.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace model {

struct Mismatch {
  std::int64_t row, column;
  double value, expected;
};

struct Error {
  double relative;  // Frobenius norm of the difference divided by that of the reference; 0/0 is 0
  double max_abs;
  bool bound_ok;                  // every element is within the textbook bound, or overflowed
  std::optional<Mismatch> first;  // the first element that is neither, row by row
  // Only because numbers in A or B are too small for the multiplier's format (Precision::step_in).
  bool forgiven = false;
  // Elements whose overflow beyond the range of fp32 their products explain.
  std::int64_t overflowed = 0;
};

// Unit roundoffs of a product: of the inputs as the multiplier uses them, and of the accumulator.
struct Precision {
  double u_in;
  double u_acc;
  // Of a C that is stored in a narrower type than fp32: its unit roundoff, its smallest and its
  // largest number.
  double u_out = 0, smallest_out = 0, largest_out = std::numeric_limits<float>::max();
  // Distance of the smallest numbers that the multiplier uses. It can lose that much of an input
  // that is too small for u_in.
  double step_in = 0;
  // The products that are added with u_acc before fp32 takes over their sum; 0: all.
  int piece = 0;
  bool of_all = true;  // whether it holds for all matrices of floats from 2^-114 to largest_in
  // The largest number that may be in A or B; infinite: infinities and NaN may be there, too.
  double largest_in = std::numeric_limits<double>::infinity();
};
inline constexpr double kLargestFloat = std::numeric_limits<float>::max();
inline constexpr Precision kFp32{0.0, 0x1p-24};
// A tensor core cuts its sums off where fp32 would round them, and so loses up to twice as much.
// What is larger than largest_in is rounded to an infinity.
inline constexpr Precision kTf32{
    .u_in = 0x1p-11, .u_acc = 0x1p-23, .step_in = 0x1p-136, .largest_in = 0x1.ffdffep127};
// bf16 has 8 bits where tf32 has 11.
inline constexpr Precision kBf16{
    .u_in = 0x1p-8, .u_acc = 0x1p-23, .step_in = 0x1p-133, .largest_in = 0x1.fefffep127};
// Each input as two tf32 numbers: the first cut off, so that the second is below 2^-10 of the input
// and is rounded by 2^-12 of that. The product of the two second numbers is left out: 2^-20.
// Together 2 * 2^-22 + 2^-20 = 2 u_in. That holds for inputs from 2^-114 on: smaller ones lose up
// to 2^-137 each, which is not forgiven.
inline constexpr Precision kSplitTf32{
    .u_in = 0x1.8p-21, .u_acc = 0x1p-23, .largest_in = kLargestFloat};

// Each input as two fp16 numbers, which together lose at most 2^-23 of it. The product of the two
// second numbers is left out: 2^-22. Numbers that are too small for the parts lose 2^-23 of the sum
// at most, or another kernel runs (stage 21 in gemm_steps.cu). And 2^-23 is added to make up
// for what the tensor cores cut off. Together 2 * 2^-23 + 2^-22 + 2 * 2^-23 = 2 u_in.
inline constexpr Precision kSplitFp16{.u_in = 0x1.8p-22, .u_acc = 0x1p-23, .piece = 64};
// The same without a proof: right for most matrices.
inline constexpr Precision kScaledFp16{
    .u_in = 0x1.8p-22, .u_acc = 0x1p-23, .piece = 64, .of_all = false, .largest_in = kLargestFloat};
// The same with a unit of 2^-10 for all numbers, so that those below 2^-12 lose up to 2^-35.
inline constexpr Precision kFixedFp16{
    .u_in = 0x1.8p-22,
    .u_acc = 0x1p-23,
    .step_in = 0x1p-34,
    .piece = 64,
    .of_all = false,
    .largest_in = kLargestFloat};

// Compares C with the exact result. All row-major M x N.
//   exact      alpha*A*B + beta*C0, accumulated in fp64
//   magnitude  |alpha| |A| |B|, fp64
//   C0         C before the product, null if beta is 0
//   alpha      for the underflow term and for overflow, see below
//
// An element passes if it is within
//   (2 u_in + u_in^2 + (1 + u_in)^2 gamma(K + 2)) * magnitude + gamma(2) |beta C0|
//     + (K |alpha| + 2) 2^-149,   gamma(n) = n u_acc / (1 - n u_acc),
// the standard error bound of an inner product (Higham, Accuracy and Stability of Numerical
// Algorithms, chapter 3), with rounded inputs, then a scaling and an addition; each operation may
// also lose up to the smallest fp32 number to underflow. With a piece, gamma(K + 2) becomes that of
// the piece and, for u_acc = 2^-24, gamma(K / piece + 2). For K u_acc >= 1 there is no bound. For a
// narrower C, storing it may add u_out of |alpha| |A| |B| + |beta C0| and of that bound, and
// smallest_out. (Inputs below step_in / u_in need a larger magnitude: lab/measure.h.)
//
// If exact is NaN, C must be NaN. If exact is infinite, C must be the same infinity, or NaN if
// terms of the other sign can overflow: products of that magnitude, if it is finite, and beta*C0.
//
// Overflow is not an error of a kernel: every BLAS returns an infinity or a NaN if C's type has no
// better number, and reports nothing. If exact is finite, +infinity passes if the positive terms of
// the sum (A*B, alpha*A*B, or that and beta*C0) can add up to more than C holds in some order,
// -infinity if the negative terms can, and NaN (infinity minus infinity) if both can. So if exact
// itself is beyond it, an infinity passes and a finite value does not.
//
// All these elements count as equal: they add nothing to the norms. A NaN or infinity anywhere else
// is an infinite difference.
Error compare(
    int M, int N, int K, const float* C, const double* exact, const double* magnitude, float beta,
    const float* C0, Precision precision, float alpha = 1);

}  // namespace model
