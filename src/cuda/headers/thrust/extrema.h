// Not here, for builds without the toolkit.
#error "make try: Thrust does not run on a CPU here; use a kernel of your own, or std::vector and <algorithm> in host code"
