// The types of the driver interface's functions, for builds without the toolkit. Programs include
// it for cuda.h.
#pragma once

#include "cuda/headers/cuda.h"
