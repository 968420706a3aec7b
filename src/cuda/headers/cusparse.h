// Not here, for builds without the toolkit.
#error "make try: cuSPARSE does not run on a CPU here"
