// Not here, for builds without the toolkit.
#error "make try: numbers of 8 bits (fp8) are not traced; use __half or __nv_bfloat16"
