// Names of cuBLASLt, for builds without the toolkit. Its other functions do not run on a CPU here.
#pragma once

#include "simulator/cuda/headers/cublas_v2.h"
#include "simulator/cuda/headers/cuda_bf16.h"
#include "simulator/cuda/headers/cuda_fp16.h"

using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque*;

// A handle can be created, because shared headers of many programs do so.
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
