// Replaces the toolkit's header in builds without the toolkit: only the names that a file may
// mention.
#pragma once

struct cublasContext;
using cublasHandle_t = cublasContext*;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0 };
