// Not here, for builds without the toolkit.
#error "make try: Thrust does not run on a CPU here; use std::vector and <algorithm>"
