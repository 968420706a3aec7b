// Not here, for builds without the toolkit.
#error "make try: NVRTC does not run on a CPU here"
