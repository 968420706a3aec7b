// Not here, for builds without the toolkit.
#error \
    "make try: cuRAND's functions for kernels do not run on a CPU here; draw the numbers on the host, for example by curandGenerateUniform of curand.h"
