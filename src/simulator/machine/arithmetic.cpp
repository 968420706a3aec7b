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

class InMode {
 public:
  explicit InMode(int rounding) { std::fesetround(rounding); }
  ~InMode() { std::fesetround(FE_TONEAREST); }
};

// As on the GPU: what does not fit becomes the nearest integer that fits. A NaN becomes 0, or the
// largest power of two in 64 bits (PTX ISA 9.0, "cvt").
template <class Integer, class T>
Integer to_integer(T value) {
  using Limits = std::numeric_limits<Integer>;
  constexpr int kBits = sizeof(Integer) * 8;
  if (std::isnan(value)) return kBits == 64 ? static_cast<Integer>(std::uint64_t{1} << 63) : 0;
  const T whole = std::nearbyint(value), beyond = std::ldexp(T{1}, Limits::digits);
  if (whole >= beyond) return Limits::max();
  if (whole < static_cast<T>(Limits::min())) return Limits::min();
  return static_cast<Integer>(whole);
}

}  // namespace
}  // namespace machine

using machine::to_integer;
#define SIMT_IN_MODE(T, name, mode, parameters, call) \
  T name parameters {                                 \
    const machine::InMode in_mode(mode);              \
    return call;                                      \
  }
// The compiler does not know that the rounding mode changes, so it must not look into the function
// that computes.
#define SIMT_DEFINE(T, name, parameters, arguments, result)                  \
  [[gnu::noipa]] T name##_rn parameters {                                    \
    return static_cast<T>(result);                                           \
  }                                                                          \
  SIMT_IN_MODE(T, name##_rz, FE_TOWARDZERO, parameters, name##_rn arguments) \
  SIMT_IN_MODE(T, name##_ru, FE_UPWARD, parameters, name##_rn arguments)     \
  SIMT_IN_MODE(T, name##_rd, FE_DOWNWARD, parameters, name##_rn arguments)
SIMT_ROUNDED(SIMT_DEFINE)

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
    return min<>(a, b);           \
  }                               \
  [[gnu::weak]] T max(T a, T b) { \
    return max<>(a, b);           \
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
