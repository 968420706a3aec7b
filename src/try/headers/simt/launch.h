// What cuda/launch.h was called once: kernels that were saved then still compile.
#pragma once

#include "cuda/launch.h"
