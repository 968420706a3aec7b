#include "host/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "model/tensor_core.h"

namespace host {
namespace {

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
      return model::widened(at<std::uint16_t>(data, index), model::kFp16);
    case CUDA_R_16BF:
      return model::widened(at<std::uint16_t>(data, index), model::kBfloat16);
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
      at<std::uint16_t>(data, index) = model::narrowed(value, model::kFp16);
      break;
    case CUDA_R_16BF:
      at<std::uint16_t>(data, index) = model::narrowed(value, model::kBfloat16);
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
  const std::uint32_t bits =
      model::rounded_to(model::kTf32Format, value, model::Toward::nearest_away);
  return std::bit_cast<float>(
      bits << (model::kFp32Format.fraction_bits - model::kTf32Format.fraction_bits));
}

}  // namespace host
