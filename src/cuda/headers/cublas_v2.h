// Stands for the toolkit's header where there is no toolkit: the names that a file may mention.
#pragma once

struct cublasContext;
using cublasHandle_t = cublasContext*;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0 };
