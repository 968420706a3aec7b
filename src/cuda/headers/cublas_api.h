// Its contents are in cublas_v2.h.
#pragma once

#include "cuda/headers/cublas_v2.h"
