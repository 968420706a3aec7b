// Not here, for builds without the toolkit.
#error "make try: cuFFT does not run on a CPU here"
