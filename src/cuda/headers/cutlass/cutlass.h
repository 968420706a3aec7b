// Not here, for builds without the toolkit.
#error "make try: CUTLASS is not traced; write the kernel in CUDA C++"
