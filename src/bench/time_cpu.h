// The times of what a CPU runs: the serial loop, openmp_gemm and OpenBLAS.
#pragma once

#include <vector>

#include "bench/openblas.h"
#include "bench/speeds.h"

namespace bench {

// Of C = A * B, size x size. The serial loop computes only the first rows of a large C, and its
// time is scaled up. What is missing has a row that says so.
std::vector<Speed> time_cpu(int size, const OpenBlas& openblas);

}  // namespace bench
