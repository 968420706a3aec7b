// Not here, for builds without the toolkit.
#error "make try: CUB is not traced; write the reduction or scan with shuffles or cooperative groups"
