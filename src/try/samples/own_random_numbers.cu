// The same with the generators that stand in for NVIDIA's.
#define SIMT_OWN_CURAND
#include "random_numbers.cu"
