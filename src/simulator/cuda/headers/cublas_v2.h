// cuBLAS for builds without the toolkit. The room host/ defines these functions: with cuBLAS's
// meaning (column-major), computed by the CPU.
#pragma once

#define CUBLAS_API_H_  // programs ask by this name whether the types of cuBLAS are there

#include <concepts>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/cuda/headers/library_types.h"

#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VER_MINOR 4
#define CUBLAS_VERSION 120400

using cublasHandle_t = struct cublasContext*;
struct __half;

// SIMT_STATUS(name, number, words), as cublasGetStatusString says them.
#define SIMT_STATUSES                                                                          \
  SIMT_STATUS(CUBLAS_STATUS_SUCCESS, 0, "success")                                             \
  SIMT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, 1, "the library was not initialized")             \
  SIMT_STATUS(CUBLAS_STATUS_ALLOC_FAILED, 3, "the resource allocation failed")                 \
  SIMT_STATUS(                                                                                 \
      CUBLAS_STATUS_INVALID_VALUE, 7,                                                          \
      "an unsupported value or parameter was passed to the function")                          \
  SIMT_STATUS(                                                                                 \
      CUBLAS_STATUS_ARCH_MISMATCH, 8,                                                          \
      "the function requires a feature absent from the device architecture")                   \
  SIMT_STATUS(CUBLAS_STATUS_MAPPING_ERROR, 11, "an access to GPU memory space failed")         \
  SIMT_STATUS(CUBLAS_STATUS_EXECUTION_FAILED, 13, "the GPU program failed to execute")         \
  SIMT_STATUS(CUBLAS_STATUS_INTERNAL_ERROR, 14, "an internal operation failed")                \
  SIMT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, 15, "the functionality requested is not supported") \
  SIMT_STATUS(CUBLAS_STATUS_LICENSE_ERROR, 16, "the functionality requested requires some license")
enum cublasStatus_t {
#define SIMT_STATUS(name, number, words) name = number,
  SIMT_STATUSES
#undef SIMT_STATUS
};

enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED, CUBLAS_ATOMICS_ALLOWED };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73
};
enum cublasGemmAlgo_t {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
#define SIMT_ALGORITHM(n) CUBLAS_GEMM_ALGO##n = n,
  SIMT_ALGORITHM(0) SIMT_ALGORITHM(1) SIMT_ALGORITHM(2) SIMT_ALGORITHM(3) SIMT_ALGORITHM(4)
      SIMT_ALGORITHM(5) SIMT_ALGORITHM(6) SIMT_ALGORITHM(7) SIMT_ALGORITHM(8) SIMT_ALGORITHM(9)
          SIMT_ALGORITHM(10) SIMT_ALGORITHM(11) SIMT_ALGORITHM(12) SIMT_ALGORITHM(13)
              SIMT_ALGORITHM(14) SIMT_ALGORITHM(15) SIMT_ALGORITHM(16) SIMT_ALGORITHM(17)
                  SIMT_ALGORITHM(18) SIMT_ALGORITHM(19) SIMT_ALGORITHM(20) SIMT_ALGORITHM(21)
                      SIMT_ALGORITHM(22) SIMT_ALGORITHM(23)
#undef SIMT_ALGORITHM
                          CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
#define SIMT_ALGORITHM(n) CUBLAS_GEMM_ALGO##n##_TENSOR_OP = 100 + n,
  SIMT_ALGORITHM(0) SIMT_ALGORITHM(1) SIMT_ALGORITHM(2) SIMT_ALGORITHM(3) SIMT_ALGORITHM(4)
      SIMT_ALGORITHM(5) SIMT_ALGORITHM(6) SIMT_ALGORITHM(7) SIMT_ALGORITHM(8) SIMT_ALGORITHM(9)
          SIMT_ALGORITHM(10) SIMT_ALGORITHM(11) SIMT_ALGORITHM(12) SIMT_ALGORITHM(13)
              SIMT_ALGORITHM(14) SIMT_ALGORITHM(15)
#undef SIMT_ALGORITHM
};

const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);
// For helper_cuda.h. A program's own function, which is not a template, is preferred.
template <std::same_as<cublasStatus_t> Status>
const char* _cudaGetErrorEnum(Status status) {
  return cublasGetStatusName(status);
}
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes);

// Between the host and the GPU: `increment` and `ld` count elements.
cublasStatus_t cublasSetVector(
    int n, int bytes, const void* host, int host_increment, void* device, int device_increment);
cublasStatus_t cublasGetVector(
    int n, int bytes, const void* device, int device_increment, void* host, int host_increment);
cublasStatus_t cublasSetMatrix(
    int rows, int columns, int bytes, const void* host, int host_ld, void* device, int device_ld);
cublasStatus_t cublasGetMatrix(
    int rows, int columns, int bytes, const void* device, int device_ld, void* host, int host_ld);

// y = alpha op(A) x + beta y: A is m x n.
#define SIMT_GEMV(S, T)                                                                      \
  cublasStatus_t cublas##S##gemv(                                                            \
      cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha, const T* A, \
      int lda, const T* x, int x_increment, const T* beta, T* y, int y_increment);
SIMT_GEMV(S, float)
SIMT_GEMV(D, double)
#undef SIMT_GEMV

// C = alpha op(A) op(B) + beta C: op(A) is m x k, op(B) is k x n. The products are summed in fp32
// or fp64.
#define SIMT_GEMM(S, T)                                                                           \
  cublasStatus_t cublas##S##gemm(                                                                 \
      cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, \
      const T* alpha, const T* A, int lda, const T* B, int ldb, const T* beta, T* C, int ldc);    \
  cublasStatus_t cublas##S##gemmStridedBatched(                                                   \
      cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, \
      const T* alpha, const T* A, int lda, long long stride_A, const T* B, int ldb,               \
      long long stride_B, const T* beta, T* C, int ldc, long long stride_C, int count);           \
  cublasStatus_t cublas##S##gemmBatched(                                                          \
      cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, \
      const T* alpha, const T* const A[], int lda, const T* const B[], int ldb, const T* beta,    \
      T* const C[], int ldc, int count);
SIMT_GEMM(S, float)
SIMT_GEMM(D, double)
SIMT_GEMM(H, __half)
#undef SIMT_GEMM
cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
    cudaDataType type_B, int ldb, const void* beta, void* C, cudaDataType type_C, int ldc,
    cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
    cudaDataType type_B, int ldb, const void* beta, void* C, cudaDataType type_C, int ldc,
    cudaDataType compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasSgemmEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const float* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
    cudaDataType type_B, int ldb, const float* beta, void* C, cudaDataType type_C, int ldc);
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType type_A, int lda, long long stride_A,
    const void* B, cudaDataType type_B, int ldb, long long stride_B, const void* beta, void* C,
    cudaDataType type_C, int ldc, long long stride_C, int count, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm);
