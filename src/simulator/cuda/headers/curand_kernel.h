// Random numbers in kernels. Where the toolkit is, NVIDIA's own header makes them, and integers and
// uniform numbers are the GPU's, bit by bit. (Its logarithms and sines are more exact here.)
// Elsewhere the generators below make them.
#pragma once

#include "simulator/cuda/headers/curand.h"

// NVIDIA's curand_precalc.h has them as 1.4 MB of text. This replaces it.
#define CURAND_XORWOW_PRECALCULATED_H_
#define PRECALC_NUM_MATRICES (32)
#define PRECALC_BLOCK_SIZE (2)
#define PRECALC_BLOCK_MASK ((1 << PRECALC_BLOCK_SIZE) - 1)
#define XORWOW_SEQUENCE_SPACING (67)
#define precalc_xorwow_matrix_host precalc_xorwow_matrix
#define precalc_xorwow_offset_matrix_host precalc_xorwow_offset_matrix
__device__ simt::Skips precalc_xorwow_matrix, precalc_xorwow_offset_matrix;
static const bool simt_has_skips =
    simt::fill_skips(precalc_xorwow_offset_matrix, precalc_xorwow_matrix);

#if __has_include_next(<curand_kernel.h>) && !defined(SIMT_OWN_CURAND)

#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#include_next <curand_kernel.h>

#else

static const bool simt_has_noted = simt::note_other_random_numbers();

// Marsaglia, "Xorshift RNGs", 2003. The state has the members, and so the size, of NVIDIA's.
struct curandStateXORWOW {
  unsigned d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
using curandStateXORWOW_t = curandStateXORWOW;
using curandState_t = curandStateXORWOW;
using curandState = curandStateXORWOW;

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;  // how many of the four numbers in `output` were drawn
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

__device__ __forceinline__ unsigned curand(curandStateXORWOW* state) {
  const unsigned t = state->v[0] ^ state->v[0] >> 2;
  for (int i = 0; i < 4; ++i) state->v[i] = state->v[i + 1];
  state->v[4] = state->v[4] ^ state->v[4] << 4 ^ t ^ t << 1;
  return state->v[4] + (state->d += 362437);
}

namespace simt {

__device__ __forceinline__ void skip(
    unsigned (&v)[5], unsigned long long count, const Skips& skips) {
  for (int digit = 0; count != 0; count >>= 2, ++digit) {
    for (unsigned long long times = count & 3; times != 0; --times) {
      unsigned result[5] = {};
      for (int bit = 0; bit < 160; ++bit) {
        if ((v[bit / 32] >> bit % 32 & 1) == 0) continue;
        for (int k = 0; k < 5; ++k) result[k] ^= skips[digit][bit * 5 + k];
      }
      for (int k = 0; k < 5; ++k) v[k] = result[k];
    }
  }
}

__device__ __forceinline__ uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    c = uint4{
        __umulhi(0xcd9e8d57u, c.z) ^ c.y ^ key.x, 0xcd9e8d57u * c.z,
        __umulhi(0xd2511f53u, c.x) ^ c.w ^ key.y, 0xd2511f53u * c.x};
    key = uint2{key.x + 0x9e3779b9u, key.y + 0xbb67ae85u};
  }
  return c;
}

}  // namespace simt

__device__ __forceinline__ void skipahead(unsigned long long n, curandStateXORWOW* state) {
  simt::skip(state->v, n, precalc_xorwow_offset_matrix);
  state->d += 362437 * static_cast<unsigned>(n);
}
__device__ __forceinline__ void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
  simt::skip(state->v, n, precalc_xorwow_matrix);
}
__device__ __forceinline__ void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
  n += state->STATE;
  const unsigned low = state->ctr.x;
  state->ctr.x += static_cast<unsigned>(n / 4);
  state->ctr.y += static_cast<unsigned>(n / 4 >> 32) + (state->ctr.x < low);
  state->STATE = n % 4;
  state->output = simt::philox(state->ctr, state->key);
}
__device__ __forceinline__ void skipahead_sequence(
    unsigned long long n, curandStatePhilox4_32_10* state) {
  const unsigned low = state->ctr.z;
  state->ctr.z += static_cast<unsigned>(n);
  state->ctr.w += static_cast<unsigned>(n >> 32) + (state->ctr.z < low);
  state->output = simt::philox(state->ctr, state->key);
}
__device__ __forceinline__ unsigned curand(curandStatePhilox4_32_10* state) {
  const uint4 o = state->output;
  const unsigned at = state->STATE;
  skipahead(1, state);
  return at == 0 ? o.x : at == 1 ? o.y : at == 2 ? o.z : o.w;
}

__device__ __forceinline__ void curand_init(
    unsigned long long seed, unsigned long long sequence, unsigned long long offset,
    curandStateXORWOW* state) {
  *state = {};
  // Two rounds of another generator, so that near seeds have states that are far apart.
  const uint4 bits =
      simt::philox({0, 0, 0, 0}, {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)});
  const unsigned first[5] = {bits.x, bits.y, bits.z, bits.w, 88675123};
  for (int i = 0; i < 5; ++i) state->v[i] = first[i];
  state->d = 6615241 ^ bits.x;
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
}
__device__ __forceinline__ void curand_init(
    unsigned long long seed, unsigned long long sequence, unsigned long long offset,
    curandStatePhilox4_32_10* state) {
  *state = {};
  state->key = uint2{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
}

// More than 0, at most 1.
template <class State>
__device__ __forceinline__ float curand_uniform(State* state) {
  return static_cast<float>(curand(state)) * 0x1p-32f + 0x1p-33f;
}
template <class State>
__device__ __forceinline__ double curand_uniform_double(State* state) {
  const unsigned long long high = curand(state);
  return static_cast<double>((high << 32 | curand(state)) >> 11) * 0x1p-53 + 0x1p-54;
}

// By Box and Muller, who make two normal numbers of two uniform ones.
#define SIMT_NORMAL(T, _of_type, f)                                                             \
  template <class State>                                                                        \
  __device__ __forceinline__ T##2 curand_normal2##_of_type(State* state) {                      \
    const T radius = sqrt##f(-2 * log##f(curand_uniform##_of_type(state)));                     \
    const T turns = curand_uniform##_of_type(state);                                            \
    return T##2 {radius * sinpi##f(2 * turns), radius * cospi##f(2 * turns)};                   \
  }                                                                                             \
  template <class State>                                                                        \
  __device__ __forceinline__ T curand_normal##_of_type(State* state) {                          \
    if ((state->boxmuller_flag##_of_type ^= 1) == 0) return state->boxmuller_extra##_of_type;   \
    const T##2 both = curand_normal2##_of_type(state);                                          \
    state->boxmuller_extra##_of_type = both.y;                                                  \
    return both.x;                                                                              \
  }                                                                                             \
  template <class State>                                                                        \
  __device__ __forceinline__ T curand_log_normal##_of_type(State* state, T mean, T deviation) { \
    return exp##f(mean + deviation * curand_normal##_of_type(state));                           \
  }
SIMT_NORMAL(float, , f)
SIMT_NORMAL(double, _double, )
#undef SIMT_NORMAL
// The events until time `lambda`, with exponential times between them.
template <class State>
__device__ __forceinline__ unsigned curand_poisson(State* state, double lambda) {
  unsigned events = 0;
  for (double time = 0; (time -= log(curand_uniform_double(state))) < lambda;) ++events;
  return events;
}

// Four numbers at once, of Philox.
__device__ __forceinline__ uint4 curand4(curandStatePhilox4_32_10* state) {
  return uint4{curand(state), curand(state), curand(state), curand(state)};
}
__device__ __forceinline__ float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  return float4{
      curand_uniform(state), curand_uniform(state), curand_uniform(state), curand_uniform(state)};
}
__device__ __forceinline__ double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  return double2{curand_uniform_double(state), curand_uniform_double(state)};
}
__device__ __forceinline__ float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const float2 first = curand_normal2(state), second = curand_normal2(state);
  return float4{first.x, first.y, second.x, second.y};
}

#endif
