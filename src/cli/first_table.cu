// The main program of build/ladder on an H100 or H200, for the first table of `make run`. It has
// only the first tile of each list, which this table takes (model/stage_tests.cpp): nvcc needs half
// the time.
#define MOST_TILES 1
#include "gemm_steps.cu"
