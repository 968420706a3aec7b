// Not here, for builds without the toolkit.
#error "make try: textures and surfaces are not traced; read the data from global memory instead"
