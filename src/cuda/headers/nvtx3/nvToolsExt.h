// Its contents are in the folder above.
#pragma once

#include "cuda/headers/nvToolsExt.h"
