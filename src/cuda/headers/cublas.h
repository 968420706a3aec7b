// Not here, for builds without the toolkit.
#error \
    "make try: the interface of cuBLAS before version 4 does not run on a CPU here; include cublas_v2.h"
