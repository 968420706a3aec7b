#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "model/refusal.h"
#include "model/tensor_core.h"
#include "simulator/cuda/aligned_copies.h"
#include "simulator/cuda/intrinsics.h"
#include "simulator/machine/memory.h"

namespace machine {
namespace {

// The compiler does not know that the rounding mode changes, so the operands and the result pass
// through memory while it is in force.
template <class Compute, class... T>
auto rounded(int mode, Compute compute, T... operands) {
  const auto pass = [](auto value) {
    volatile auto in_memory = value;
    return in_memory;
  };
  if (mode == FE_TONEAREST) return compute(operands...);
  std::fesetround(mode);
  const auto result = pass(compute(pass(operands)...));
  std::fesetround(FE_TONEAREST);
  return result;
}

// As on the GPU: what does not fit becomes the nearest integer that fits. A NaN becomes 0, or the
// largest power of two in 64 bits (PTX ISA 9.0, "cvt").
template <class Integer, class T>
Integer to_integer(int mode, T value) {
  using Limits = std::numeric_limits<Integer>;
  constexpr int kBits = sizeof(Integer) * 8;
  if (std::isnan(value)) return kBits == 64 ? static_cast<Integer>(std::uint64_t{1} << 63) : 0;
  const T whole = rounded(
      mode, [](T x) { return std::nearbyint(x); }, value);
  const T beyond = std::ldexp(T{1}, Limits::digits);
  if (whole >= beyond) return Limits::max();
  if (whole < static_cast<T>(Limits::min())) return Limits::min();
  return static_cast<Integer>(whole);
}

}  // namespace
}  // namespace machine

#define BINARY(T, name, operation, mode)                     \
  T name(T a, T b) {                                         \
    return machine::rounded(                                 \
        mode, [](T x, T y) { return x operation y; }, a, b); \
  }
#define UNARY(T, name, result, mode)          \
  T name(T a) {                               \
    return machine::rounded(                  \
        mode, [](T x) { return result; }, a); \
  }
#define ARITHMETIC(T, prefix, rounding, mode)      \
  BINARY(T, prefix##add_##rounding, +, mode)       \
  BINARY(T, prefix##sub_##rounding, -, mode)       \
  BINARY(T, prefix##mul_##rounding, *, mode)       \
  BINARY(T, prefix##div_##rounding, /, mode)       \
  UNARY(T, prefix##rcp_##rounding, T{1} / x, mode) \
  UNARY(T, prefix##sqrt_##rounding, std::sqrt(x), mode)
#define CONVERSION(To, name, From, mode)                     \
  To name(From a) {                                          \
    return machine::rounded(                                 \
        mode, [](From x) { return static_cast<To>(x); }, a); \
  }
#define TO_INTEGER(To, name, From, mode)     \
  To name(From a) {                          \
    return machine::to_integer<To>(mode, a); \
  }
#define ALL(rounding, mode)                                                             \
  ARITHMETIC(float, __f, rounding, mode)                                                \
  ARITHMETIC(double, __d, rounding, mode)                                               \
  float __fmaf_##rounding(float a, float b, float c) {                                  \
    return machine::rounded(                                                            \
        mode, [](float x, float y, float z) { return std::fma(x, y, z); }, a, b, c);    \
  }                                                                                     \
  double __fma_##rounding(double a, double b, double c) {                               \
    return machine::rounded(                                                            \
        mode, [](double x, double y, double z) { return std::fma(x, y, z); }, a, b, c); \
  }                                                                                     \
  TO_INTEGER(int, __float2int_##rounding, float, mode)                                  \
  TO_INTEGER(unsigned, __float2uint_##rounding, float, mode)                            \
  TO_INTEGER(long long, __float2ll_##rounding, float, mode)                             \
  TO_INTEGER(unsigned long long, __float2ull_##rounding, float, mode)                   \
  TO_INTEGER(int, __double2int_##rounding, double, mode)                                \
  TO_INTEGER(unsigned, __double2uint_##rounding, double, mode)                          \
  TO_INTEGER(long long, __double2ll_##rounding, double, mode)                           \
  TO_INTEGER(unsigned long long, __double2ull_##rounding, double, mode)                 \
  CONVERSION(float, __int2float_##rounding, int, mode)                                  \
  CONVERSION(float, __uint2float_##rounding, unsigned, mode)                            \
  CONVERSION(float, __ll2float_##rounding, long long, mode)                             \
  CONVERSION(float, __ull2float_##rounding, unsigned long long, mode)                   \
  CONVERSION(double, __ll2double_##rounding, long long, mode)                           \
  CONVERSION(double, __ull2double_##rounding, unsigned long long, mode)                 \
  CONVERSION(float, __double2float_##rounding, double, mode)
ALL(rn, FE_TONEAREST)
ALL(rz, FE_TOWARDZERO)
ALL(ru, FE_UPWARD)
ALL(rd, FE_DOWNWARD)

double __int2double_rn(int a) {
  return a;
}
double __uint2double_rn(unsigned a) {
  return a;
}
float __frsqrt_rn(float a) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(a)));
}

AlignedMatrix AlignedCopies::copy(
    const char* name, Memory& to, const float* matrix, int rows, int columns, CopiedAs as, OnlyIf) {
  using machine::MemoryKind;
  const std::uint64_t pitch = pitch_bytes(columns, as);
  const std::size_t bytes = rows * pitch;
  if (bytes > to.bytes) {
    if (to.begin != nullptr) machine::free_array(to.begin, MemoryKind::device, MemoryKind::device);
    to = {machine::allocate_array(bytes, name, MemoryKind::device)};
    if (to.begin == nullptr) {
      throw model::Refusal(std::string("there is no memory for a copy of ") + name);
    }
    to.bytes = bytes;
  }
  const machine::OpenDeviceMemory open(to.begin);
  for (int row = 0; row < rows; ++row) {
    const float* const from = matrix + std::size_t(row) * columns;
    void* const first = static_cast<char*>(to.begin) + row * pitch;
    if (as == CopiedAs::fp32) {
      std::memcpy(first, from, columns * sizeof(float));
      continue;
    }
    const auto narrow = [](float value) { return model::narrowed(value, model::kBfloat16); };
    std::transform(from, from + columns, static_cast<std::uint16_t*>(first), narrow);
  }
  return {to.begin, pitch};
}

// For a program that declares them, and leaves their definition to CUDA. One that defines them has
// its own.
#define MIN_MAX(T)                \
  [[gnu::weak]] T min(T a, T b) { \
    return b < a ? b : a;         \
  }                               \
  [[gnu::weak]] T max(T a, T b) { \
    return a < b ? b : a;         \
  }
MIN_MAX(int)
MIN_MAX(unsigned)
MIN_MAX(long)
MIN_MAX(unsigned long)
MIN_MAX(long long)
MIN_MAX(unsigned long long)
MIN_MAX(float)
MIN_MAX(double)
#undef MIN_MAX
