// Shared by the functions of cuBLAS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "simulator/cuda/headers/cublas_v2.h"
#include "simulator/cuda/headers/library_types.h"
#include "simulator/host/call.h"

namespace host {

// Elements of the types that cuBLAS accepts, read as double and stored rounded.

std::size_t bytes_of(cudaDataType type);  // 0 if the type is not known

// The element with this index.
double element(const void* data, cudaDataType type, std::int64_t index);
void set_element(void* data, cudaDataType type, std::int64_t index, double value);

}  // namespace host

// What a cublasHandle_t points to.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

namespace host {

// A call of a cuBLAS function. The first thing that is wrong decides its result.
class BlasCall {
 public:
  explicit BlasCall(
      cublasHandle_t handle, const char* function = __builtin_FUNCTION(),
      const void* place = __builtin_return_address(0));

  // An argument that must hold, or the sentence says why not.
  void require(bool holds, const std::string& why);
  // An argument that points to `bytes` bytes of the GPU's memory.
  void require_on_gpu(const char* name, const void* pointer, std::int64_t bytes);
  // The reach of a vector of n elements.
  void require_vector(
      const char* name, const void* pointer, int n, int increment, std::size_t element_bytes);
  // The reach of a matrix; `ld` elements from column to column.
  void require_matrix(
      const char* name, const void* pointer, int rows, int columns, int ld,
      std::size_t element_bytes, std::int64_t from_element = 0);

  // A number behind a pointer: of the host, read now, or of the GPU, read when the work runs.
  std::function<double()> scalar(const void* pointer, cudaDataType type);

  cublasMath_t math() const { return exists_ ? handle_->math : CUBLAS_DEFAULT_MATH; }

  // If nothing is wrong, `work` runs in the handle's stream and can access the GPU's memory.
  cublasStatus_t runs(const std::function<void()>& work) const;
  // Or at once.
  cublasStatus_t runs_now(const std::function<void()>& work) const;

 private:
  Call call_;
  cublasHandle_t handle_;
  bool exists_;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

}  // namespace host
