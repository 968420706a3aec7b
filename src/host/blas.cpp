#include "host/blas.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "host/copies.h"
#include "host/elements.h"
#include "host/places.h"
#include "host/stream.h"
#include "machine/device_memory.h"
#include "text/numbers.h"

namespace host {
namespace {

std::set<cublasHandle_t> handles;

bool is_handle(cublasHandle_t handle) {
  return handles.contains(handle);
}

// Columns of `rows` elements.
cublasStatus_t copy(
    const Call& call, int rows, int columns, int bytes, const void* from, int from_ld, void* to,
    int to_ld, cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  if (rows < 0 || columns < 0 || bytes <= 0 || from_ld <= 0 || to_ld <= 0) {
    call.note("a size is negative, or a distance is not positive");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto in_bytes = [&](int elements) { return static_cast<std::size_t>(elements) * bytes; };
  const Rows columns_of{in_bytes(rows), static_cast<std::size_t>(columns), in_bytes(to_ld)};
  const cudaError_t error = host::copy(call, to, columns_of, from, in_bytes(from_ld), kind, stream);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

}  // namespace

BlasCall::BlasCall(cublasHandle_t handle, const char* function, const void* place)
    : call_(function, place), handle_(handle), exists_(is_handle(handle)) {
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
  const Place place = place_of(pointer);
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
  *handle = *handles.insert(new cublasContext).first;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  const BlasCall call(handle);
  return call.runs_now([=] {
    handles.erase(handle);
    delete handle;
  });
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  const Call call;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  const Call call;
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : type == MINOR_VERSION ? CUBLAS_VER_MINOR : 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  BlasCall call(handle);
  call.require(is_stream(stream), kNoStream);
  return call.runs_now([=] { handle->stream = stream; });
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  return BlasCall(handle).runs_now([=] { *stream = handle->stream; });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return BlasCall(handle).runs_now([=] { handle->math = mode; });
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return BlasCall(handle).runs_now([=] { *mode = handle->math; });
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return BlasCall(handle).runs_now([=] { handle->pointers = mode; });
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return BlasCall(handle).runs_now([=] { *mode = handle->pointers; });
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

cublasStatus_t cublasSetVectorAsync(
    int n, int bytes, const void* host, int host_increment, void* device, int device_increment,
    cudaStream_t stream) {
  return copy(
      Call(), 1, n, bytes, host, host_increment, device, device_increment, cudaMemcpyHostToDevice,
      stream);
}

cublasStatus_t cublasGetVectorAsync(
    int n, int bytes, const void* device, int device_increment, void* host, int host_increment,
    cudaStream_t stream) {
  return copy(
      Call(), 1, n, bytes, device, device_increment, host, host_increment, cudaMemcpyDeviceToHost,
      stream);
}

cublasStatus_t cublasSetMatrixAsync(
    int rows, int columns, int bytes, const void* host, int host_ld, void* device, int device_ld,
    cudaStream_t stream) {
  return copy(
      Call(), rows, columns, bytes, host, host_ld, device, device_ld, cudaMemcpyHostToDevice,
      stream);
}

cublasStatus_t cublasGetMatrixAsync(
    int rows, int columns, int bytes, const void* device, int device_ld, void* host, int host_ld,
    cudaStream_t stream) {
  return copy(
      Call(), rows, columns, bytes, device, device_ld, host, host_ld, cudaMemcpyDeviceToHost,
      stream);
}
