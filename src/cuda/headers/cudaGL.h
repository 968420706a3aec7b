// Not here, for builds without the toolkit.
#error "make try: OpenGL's buffers do not run on a CPU here; keep the computation in memory of CUDA"
