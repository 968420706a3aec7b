// Its contents are in cuda/vector_types.h.
#pragma once

#include "cuda/vector_types.h"
