// Not here, for builds without the toolkit.
#error "make try: cuSOLVER does not run on a CPU here"
