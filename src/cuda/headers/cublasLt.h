// Not here, for builds without the toolkit.
#error "make try: cuBLASLt does not run on a CPU here; use cublasGemmEx of cublas_v2.h"
