// cuRAND's generators for host code, for builds without the toolkit. The room host/ defines them:
// the same distributions, but other numbers than a GPU's.
// (curand_kernel.h of the toolkit, which includes the toolkit's curand.h, then does without that.)
#pragma once
#define CURAND_H_

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/cuda/headers/library_types.h"

using curandGenerator_t = struct curandGenerator_st*;

#define SIMT_STATUSES_OF_CURAND                             \
  SIMT_STATUS(CURAND_STATUS_SUCCESS, 0)                     \
  SIMT_STATUS(CURAND_STATUS_VERSION_MISMATCH, 100)          \
  SIMT_STATUS(CURAND_STATUS_NOT_INITIALIZED, 101)           \
  SIMT_STATUS(CURAND_STATUS_ALLOCATION_FAILED, 102)         \
  SIMT_STATUS(CURAND_STATUS_TYPE_ERROR, 103)                \
  SIMT_STATUS(CURAND_STATUS_OUT_OF_RANGE, 104)              \
  SIMT_STATUS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, 105)       \
  SIMT_STATUS(CURAND_STATUS_DOUBLE_PRECISION_REQUIRED, 106) \
  SIMT_STATUS(CURAND_STATUS_LAUNCH_FAILURE, 201)            \
  SIMT_STATUS(CURAND_STATUS_PREEXISTING_FAILURE, 202)       \
  SIMT_STATUS(CURAND_STATUS_INITIALIZATION_FAILED, 203)     \
  SIMT_STATUS(CURAND_STATUS_ARCH_MISMATCH, 204)             \
  SIMT_STATUS(CURAND_STATUS_INTERNAL_ERROR, 999)
enum curandStatus_t {
#define SIMT_STATUS(name, number) name = number,
  SIMT_STATUSES_OF_CURAND
#undef SIMT_STATUS
};
using curandStatus = curandStatus_t;

enum curandRngType_t {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161
};
using curandRngType = curandRngType_t;

// Tables of the toolkit's curand_kernel.h, as its curand.h names them.
using curandDirectionVectors32_t = unsigned[32];
using curandDirectionVectors64_t = unsigned long long[64];
using curandDistribution_t = double*;
using curandDistributionShift_t = struct curandDistributionShift_st*;
using curandDistributionM2Shift_t = struct curandDistributionM2Shift_st*;
using curandHistogramM2_t = struct curandHistogramM2_st*;
using curandHistogramM2K_t = unsigned*;
using curandHistogramM2V_t = double*;
using curandDiscreteDistribution_t = struct curandDiscreteDistribution_st*;
using curandMethod_t = int;
constexpr curandMethod_t CURAND_M1 = 4, CURAND_M2 = 5;

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type);
curandStatus_t curandDestroyGenerator(curandGenerator_t generator);
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream);
curandStatus_t curandSetPseudoRandomGeneratorSeed(
    curandGenerator_t generator, unsigned long long seed);

// Uniform: more than 0, at most 1. Of normal numbers there must be an even number.
curandStatus_t curandGenerateUniform(
    curandGenerator_t generator, float* numbers, std::size_t count);
curandStatus_t curandGenerateUniformDouble(
    curandGenerator_t generator, double* numbers, std::size_t count);
curandStatus_t curandGenerateNormal(
    curandGenerator_t generator, float* numbers, std::size_t count, float mean, float deviation);
curandStatus_t curandGenerateNormalDouble(
    curandGenerator_t generator, double* numbers, std::size_t count, double mean, double deviation);
}

const char* _cudaGetErrorEnum(curandStatus_t status);  // for helper_cuda.h

namespace simt {
// What curand_kernel.h needs of the room host/. By these matrices XORWOW skips 4^i numbers, and 4^i
// sequences of 2^67 numbers. Row b of a matrix is what bit b of the state becomes.
using Skips = unsigned[32][800];
bool fill_skips(Skips& numbers, Skips& sequences);
bool note_other_random_numbers();
}  // namespace simt
