// Its contents are in cuda_runtime_api.h.
#pragma once

#include "cuda/headers/cuda_runtime_api.h"
