#include "simulator/host/blas.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <type_traits>

#include "simulator/cuda/headers/cuda_bf16.h"
#include "simulator/cuda/headers/cuda_fp16.h"
#include "simulator/host/memory.h"
#include "simulator/host/stream.h"
#include "simulator/machine/memory.h"
#include "text/numbers.h"

namespace host {
namespace {

template <class T>
T clamped(double value) {
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(std::clamp<double>(std::nearbyint(value), Limits::min(), Limits::max()));
}

// Calls visit(a number of that type), if the type is known.
template <class Visit>
void with_type(cudaDataType type, Visit visit) {
  switch (type) {
    case CUDA_R_64F:
      return visit(double{});
    case CUDA_R_32F:
      return visit(float{});
    case CUDA_R_32I:
      return visit(std::int32_t{});
    case CUDA_R_16F:
      return visit(__half{});
    case CUDA_R_16BF:
      return visit(__nv_bfloat16{});
    case CUDA_R_8I:
      return visit(std::int8_t{});
    case CUDA_R_8U:
      return visit(std::uint8_t{});
  }
}

}  // namespace

std::size_t bytes_of(cudaDataType type) {
  std::size_t bytes = 0;
  with_type(type, [&](auto number) { bytes = sizeof number; });
  return bytes;
}

double element(const void* data, cudaDataType type, std::int64_t index) {
  double value = 0;
  with_type(type, [&]<class T>(T) {
    const T& number = static_cast<const T*>(data)[index];
    if constexpr (std::is_arithmetic_v<T>) {
      value = number;
    } else {
      value = float{number};
    }
  });
  return value;
}

void set_element(void* data, cudaDataType type, std::int64_t index, double value) {
  with_type(type, [&]<class T>(T) {
    T& number = static_cast<T*>(data)[index];
    if constexpr (std::is_integral_v<T>) {
      number = clamped<T>(value);
    } else {
      number = static_cast<T>(value);
    }
  });
}

namespace {

Pool<cublasContext> handles;

// Columns of `rows` elements.
cublasStatus_t copy(
    const Call& call, int rows, int columns, int bytes, const void* from, int from_ld, void* to,
    int to_ld, cudaMemcpyKind kind) {
  if (rows < 0 || columns < 0 || bytes <= 0 || from_ld <= 0 || to_ld <= 0) {
    call.note("a size is negative, or a distance is not positive");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto in_bytes = [&](int elements) { return static_cast<std::size_t>(elements) * bytes; };
  const Rows columns_of{in_bytes(rows), static_cast<std::size_t>(columns), in_bytes(to_ld)};
  const cudaError_t error =
      host::copy(call, to, columns_of, from, in_bytes(from_ld), kind, nullptr);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

}  // namespace

BlasCall::BlasCall(cublasHandle_t handle, const char* function, const void* place)
    : call_(function, place), handle_(handle), exists_(handles.holds(handle)) {
  if (exists_) return;
  status_ = CUBLAS_STATUS_NOT_INITIALIZED;
  call_.note("the handle was not created by cublasCreate, or was destroyed before");
}

void BlasCall::require(bool holds, const std::string& why) {
  if (holds || status_ != CUBLAS_STATUS_SUCCESS) return;
  status_ = CUBLAS_STATUS_INVALID_VALUE;
  call_.note(why);
}

void BlasCall::require_on_gpu(const char* name, const void* pointer, std::int64_t bytes) {
  if (bytes <= 0 || status_ != CUBLAS_STATUS_SUCCESS) return;
  const Pointed place = place_of(pointer);
  if (place.for_gpu && static_cast<std::size_t>(bytes) <= place.bytes) return;
  // A GPU would stop at an illegal address.
  status_ = CUBLAS_STATUS_EXECUTION_FAILED;
  const std::string named =
      name + (place.name.empty() || place.name == name ? "" : ", " + place.name + ",");
  if (place.freed) return call_.note(named + " was freed before", true);
  if (!place.for_gpu) return call_.note(named + " is not memory of the GPU", true);
  call_.note(
      named + " has " + text::grouped(static_cast<long long>(place.bytes)) +
          " bytes from there on, and the call needs " + text::grouped(bytes),
      true);
}

void BlasCall::require_vector(
    const char* name, const void* pointer, int n, int increment, std::size_t element_bytes) {
  if (n <= 0) return;
  require_on_gpu(
      name, pointer,
      (static_cast<std::int64_t>(n - 1) * std::abs(increment) + 1) *
          static_cast<std::int64_t>(element_bytes));
}

void BlasCall::require_matrix(
    const char* name, const void* pointer, int rows, int columns, int ld, std::size_t element_bytes,
    std::int64_t from_element) {
  require(
      ld >= std::max(1, rows), std::string("the leading dimension of ") + name + " is " +
                                   std::to_string(ld) + ", and its columns have " +
                                   std::to_string(rows) + " elements");
  if (rows <= 0 || columns <= 0) return;
  require_on_gpu(
      name, pointer,
      (from_element + static_cast<std::int64_t>(columns - 1) * ld + rows) *
          static_cast<std::int64_t>(element_bytes));
}

std::function<double()> BlasCall::scalar(const void* pointer, cudaDataType type) {
  require(pointer != nullptr, "a factor is a null pointer");
  if (status_ != CUBLAS_STATUS_SUCCESS) return {};
  const auto read = [=] { return element(pointer, type, 0); };
  if (handle_->pointers == CUBLAS_POINTER_MODE_DEVICE) return read;
  return [value = read()] { return value; };
}

cublasStatus_t BlasCall::runs(const std::function<void()>& work) const {
  if (status_ != CUBLAS_STATUS_SUCCESS) return status_;
  if (!is_stream(handle_->stream)) {
    call_.note(kNoStream);
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  in_stream(handle_->stream, [work] {
    const machine::OpenDeviceMemory open;
    work();
  });
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t BlasCall::runs_now(const std::function<void()>& work) const {
  if (status_ == CUBLAS_STATUS_SUCCESS) work();
  return status_;
}

}  // namespace host

using namespace host;

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
#define SIMT_STATUS(name, number, words) \
  case name:                             \
    return #name;
    SIMT_STATUSES
#undef SIMT_STATUS
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
#define SIMT_STATUS(name, number, words) \
  case name:                             \
    return words;
    SIMT_STATUSES
#undef SIMT_STATUS
  }
  return "unknown status";
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  const Call call;
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = handles.make();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  const BlasCall call(handle);
  return call.runs_now([=] { handles.destroy(handle); });
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  const Call call;
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  BlasCall call(handle);
  call.require(is_stream(stream), kNoStream);
  return call.runs_now([=] { handle->stream = stream; });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return BlasCall(handle).runs_now([=] { handle->math = mode; });
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return BlasCall(handle).runs_now([=] { handle->pointers = mode; });
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t) {
  return BlasCall(handle).runs_now([] {});
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, std::size_t) {
  return BlasCall(handle).runs_now([] {});
}

cublasStatus_t cublasSetVector(
    int n, int bytes, const void* host, int host_increment, void* device, int device_increment) {
  return copy(
      Call(), 1, n, bytes, host, host_increment, device, device_increment, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetVector(
    int n, int bytes, const void* device, int device_increment, void* host, int host_increment) {
  return copy(
      Call(), 1, n, bytes, device, device_increment, host, host_increment, cudaMemcpyDeviceToHost);
}

cublasStatus_t cublasSetMatrix(
    int rows, int columns, int bytes, const void* host, int host_ld, void* device, int device_ld) {
  return copy(
      Call(), rows, columns, bytes, host, host_ld, device, device_ld, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetMatrix(
    int rows, int columns, int bytes, const void* device, int device_ld, void* host, int host_ld) {
  return copy(
      Call(), rows, columns, bytes, device, device_ld, host, host_ld, cudaMemcpyDeviceToHost);
}

namespace host {
namespace {

// The product of a matrix and a vector. Sums are in fp64.

template <class T>
constexpr cudaDataType kType = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;

// A vector of which neighbours are `increment` elements apart; backwards if that is negative.
template <class T>
class Strided {
 public:
  Strided(T* data, int n, int increment)
      : first_(increment < 0 ? data + static_cast<std::int64_t>(1 - n) * increment : data),
        increment_(increment) {}
  T& operator[](std::int64_t i) const { return first_[i * increment_]; }

 private:
  T* first_;
  std::int64_t increment_;
};

template <class T>
cublasStatus_t gemv(
    BlasCall call, cublasOperation_t op, int m, int n, const T* alpha, const T* A, int lda,
    const T* x, int x_increment, const T* beta, T* y, int y_increment) {
  const bool transposed = op != CUBLAS_OP_N;
  const int rows = transposed ? n : m, columns = transposed ? m : n;
  call.require(m >= 0 && n >= 0, "m or n is negative");
  call.require_matrix("A", A, m, n, lda, sizeof(T));
  call.require_vector("x", x, columns, x_increment, sizeof(T));
  call.require_vector("y", y, rows, y_increment, sizeof(T));
  const auto factor = call.scalar(alpha, kType<T>), factor_y = call.scalar(beta, kType<T>);
  return call.runs([=] {
    const Strided from(x, columns, x_increment);
    const Strided to(y, rows, y_increment);
    for (std::int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        sum += static_cast<double>(A[transposed ? j + i * lda : i + j * lda]) * from[j];
      }
      const double before = factor_y() == 0 ? 0 : factor_y() * to[i];
      to[i] = static_cast<T>(factor() * sum + before);
    }
  });
}

}  // namespace
}  // namespace host

using namespace host;

#define SIMT_GEMV(S, T)                                                                           \
  cublasStatus_t cublas##S##gemv(                                                                 \
      cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha, const T* A,      \
      int lda, const T* x, int x_increment, const T* beta, T* y, int y_increment) {               \
    return gemv(BlasCall(handle), op, m, n, alpha, A, lda, x, x_increment, beta, y, y_increment); \
  }
SIMT_GEMV(S, float)
SIMT_GEMV(D, double)
#undef SIMT_GEMV
