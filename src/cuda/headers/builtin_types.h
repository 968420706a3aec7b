// Its contents are in cuda_runtime.h.
#pragma once

#include "cuda/headers/cuda_runtime.h"
