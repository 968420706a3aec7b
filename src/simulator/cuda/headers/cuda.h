// Files include it for its version and CUtensorMap. The driver's functions do not run on a CPU here
// (simulator/cuda/refused.txt).
#pragma once

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/cuda/tensor_map.h"

#define CUDA_VERSION CUDART_VERSION
