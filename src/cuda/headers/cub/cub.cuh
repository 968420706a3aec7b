// Not here, for builds without the toolkit.
#error "make try: CUB is not traced; use shuffles or cooperative groups"
