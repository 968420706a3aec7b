// Both vectors are in one file.
#pragma once

#include "simulator/cuda/stand_ins/thrust/device_vector.h"
