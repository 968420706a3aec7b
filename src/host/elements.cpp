#include "host/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace host {
namespace {

// The formats of 16 bits: a sign, an exponent and a fraction.
struct Narrow {
  int fraction_bits, least_exponent, most_exponent;
};
constexpr Narrow kFp16{10, -14, 15}, kBf16{7, -126, 127};

double widened(std::uint16_t bits, const Narrow& format) {
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> format.fraction_bits;
  const double sign = bits & 0x8000 ? -1 : 1;
  const double one = std::ldexp(1.0, format.fraction_bits);
  if (exponent == format.most_exponent * 2 + 1) {
    return fraction == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction / one, format.least_exponent);
  return sign * std::ldexp(1 + fraction / one, exponent - format.most_exponent);
}

// Rounded to the nearest; of two, to the even one.
std::uint16_t narrowed(double value, const Narrow& format) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int infinity = (format.most_exponent * 2 + 1) << format.fraction_bits;
  if (std::isnan(value)) return 0x7fff;
  const double magnitude = std::fabs(value);
  int exponent = format.least_exponent;
  if (magnitude != 0 && !std::isinf(magnitude)) {
    exponent = std::max(exponent, std::ilogb(magnitude));
  }
  // In units of the last place, of which a normal number has 2^fraction_bits and more.
  const double units = std::isinf(magnitude)
                           ? HUGE_VAL
                           : std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent));
  const double bits = units + std::ldexp(exponent - format.least_exponent, format.fraction_bits);
  return static_cast<std::uint16_t>(sign | (bits >= infinity ? infinity : static_cast<int>(bits)));
}

template <class T>
T& at(void* data, std::int64_t index) {
  return static_cast<T*>(data)[index];
}
template <class T>
const T& at(const void* data, std::int64_t index) {
  return static_cast<const T*>(data)[index];
}

template <class T>
T clamped(double value) {
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(std::clamp<double>(std::nearbyint(value), Limits::min(), Limits::max()));
}

}  // namespace

std::size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
      return 8;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_8I:
    case CUDA_R_8U:
      return 1;
  }
  return 0;
}

double element(const void* data, cudaDataType type, std::int64_t index) {
  switch (type) {
    case CUDA_R_64F:
      return at<double>(data, index);
    case CUDA_R_32F:
      return at<float>(data, index);
    case CUDA_R_32I:
      return at<std::int32_t>(data, index);
    case CUDA_R_16F:
      return widened(at<std::uint16_t>(data, index), kFp16);
    case CUDA_R_16BF:
      return widened(at<std::uint16_t>(data, index), kBf16);
    case CUDA_R_8I:
      return at<std::int8_t>(data, index);
    case CUDA_R_8U:
      return at<std::uint8_t>(data, index);
  }
  return 0;
}

void set_element(void* data, cudaDataType type, std::int64_t index, double value) {
  switch (type) {
    case CUDA_R_64F:
      at<double>(data, index) = value;
      break;
    case CUDA_R_32F:
      at<float>(data, index) = static_cast<float>(value);
      break;
    case CUDA_R_32I:
      at<std::int32_t>(data, index) = clamped<std::int32_t>(value);
      break;
    case CUDA_R_16F:
      at<std::uint16_t>(data, index) = narrowed(value, kFp16);
      break;
    case CUDA_R_16BF:
      at<std::uint16_t>(data, index) = narrowed(value, kBf16);
      break;
    case CUDA_R_8I:
      at<std::int8_t>(data, index) = clamped<std::int8_t>(value);
      break;
    case CUDA_R_8U:
      at<std::uint8_t>(data, index) = clamped<std::uint8_t>(value);
      break;
  }
}

float as_tf32(float value) {
  if (!std::isfinite(value)) return value;
  constexpr std::uint32_t kLost = (1u << 13) - 1;  // the bits of a float that tf32 has not
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + (kLost >> 1) + 1) & ~kLost);
}

}  // namespace host
