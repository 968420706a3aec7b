// The old name of cuda/launch.h, so that kernels saved with it still compile.
#pragma once

#include "simulator/cuda/launch.h"
