// cuRAND's functions for kernels, for builds without the toolkit: the same distributions, but other
// numbers than a GPU's.
#pragma once

#include <cmath>
#include <numbers>

#include "simulator/cuda/cpu.h"
#include "simulator/cuda/headers/curand.h"
#include "simulator/cuda/random_states.h"

using curandState = curandStateXORWOW;
using curandState_t = curandStateXORWOW;
using curandStateXORWOW_t = curandStateXORWOW;
using curandStateMRG32k3a_t = curandStateMRG32k3a;
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

inline void curand_init(
    unsigned long long seed, unsigned long long sequence, unsigned long long offset,
    curandStateXORWOW* state) {
  simt::note_numbers_drawn();
  std::uint64_t bits = simt::mixed(seed, sequence);
  simt::forget_normals(state);
  state->d = static_cast<unsigned>(simt::split_mix(bits));
  for (unsigned& word : state->v) word = static_cast<unsigned>(simt::split_mix(bits)) | 1;
  simt::skip(state, offset);
}

inline void curand_init(
    unsigned long long seed, unsigned long long sequence, unsigned long long offset,
    curandStateMRG32k3a* state) {
  simt::note_numbers_drawn();
  std::uint64_t bits = simt::mixed(seed, sequence);
  simt::forget_normals(state);
  // Less than both moduli, and not 0.
  for (unsigned& word : state->s1) word = simt::split_mix(bits) % 4294944442u + 1;
  for (unsigned& word : state->s2) word = simt::split_mix(bits) % 4294944442u + 1;
  simt::skip(state, offset);
}

inline void curand_init(
    unsigned long long seed, unsigned long long sequence, unsigned long long offset,
    curandStatePhilox4_32_10* state) {
  simt::note_numbers_drawn();
  curandStatePhilox4_32_10 begun;
  simt::forget_normals(&begun);
  begun.ctr = uint4{0, 0, static_cast<unsigned>(sequence), static_cast<unsigned>(sequence >> 32)};
  begun.key = uint2{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  begun.STATE = 0;
  simt::skip(&begun, offset);
  *state = begun;
}

template <class State>
void skipahead(unsigned long long numbers, State* state) {
  simt::skip(state, numbers);
}

inline void skipahead_sequence(unsigned long long sequences, curandStatePhilox4_32_10* state) {
  simt::add(state->ctr.z, state->ctr.w, sequences);
  state->output = simt::philox(state->ctr, state->key);
}

template <class State>
unsigned curand(State* state) {
  return simt::draw(state);
}

namespace simt {

// More than 0, at most 1.
inline float uniform_of(unsigned bits) {
  return static_cast<float>(bits) * 0x1p-32f + 0x1p-33f;
}
inline double uniform_of(unsigned high, unsigned low) {
  return (static_cast<double>(std::uint64_t{high >> 5} << 26 | low >> 6) + 1) * 0x1p-53;
}

// Two numbers of the normal distribution from two of the uniform one, by Box and Muller.
inline float2 normals_of(float u, float v) {
  const float radius = sqrtf(-2 * logf(u)), angle = 2 * std::numbers::pi_v<float> * v;
  return float2{radius * sinf(angle), radius * cosf(angle)};
}
inline double2 normals_of(double u, double v) {
  const double radius = sqrt(-2 * log(u)), angle = 2 * std::numbers::pi * v;
  return double2{radius * sin(angle), radius * cos(angle)};
}

}  // namespace simt

template <class State>
float curand_uniform(State* state) {
  return simt::uniform_of(simt::draw(state));
}

template <class State>
double curand_uniform_double(State* state) {
  const unsigned high = simt::draw(state);
  return simt::uniform_of(high, simt::draw(state));
}

template <class State>
float2 curand_normal2(State* state) {
  const float u = curand_uniform(state);
  return simt::normals_of(u, curand_uniform(state));
}

template <class State>
double2 curand_normal2_double(State* state) {
  const double u = curand_uniform_double(state);
  return simt::normals_of(u, curand_uniform_double(state));
}

template <class State>
float curand_normal(State* state) {
  if (state->boxmuller_flag != 0) {
    state->boxmuller_flag = 0;
    return state->boxmuller_extra;
  }
  const float2 pair = curand_normal2(state);
  state->boxmuller_extra = pair.y;
  state->boxmuller_flag = 1;
  return pair.x;
}

template <class State>
double curand_normal_double(State* state) {
  if (state->boxmuller_flag_double != 0) {
    state->boxmuller_flag_double = 0;
    return state->boxmuller_extra_double;
  }
  const double2 pair = curand_normal2_double(state);
  state->boxmuller_extra_double = pair.y;
  state->boxmuller_flag_double = 1;
  return pair.x;
}

template <class State>
float curand_log_normal(State* state, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(state));
}

template <class State>
float2 curand_log_normal2(State* state, float mean, float deviation) {
  const float2 pair = curand_normal2(state);
  return float2{expf(mean + deviation * pair.x), expf(mean + deviation * pair.y)};
}

template <class State>
double curand_log_normal_double(State* state, double mean, double deviation) {
  return exp(mean + deviation * curand_normal_double(state));
}

// As many factors as keep a product of uniform numbers above exp(-mean) (Knuth, "The Art of
// Computer Programming", 3.4.1). A large mean is the sum of smaller ones.
template <class State>
unsigned curand_poisson(State* state, double mean) {
  unsigned count = 0;
  for (; mean > 0; mean -= 32) {
    const double least = exp(-(mean < 32 ? mean : 32));
    for (double product = curand_uniform_double(state); product > least; ++count) {
      product *= curand_uniform_double(state);
    }
  }
  return count;
}

// Four numbers at once, of Philox.
inline uint4 curand4(curandStatePhilox4_32_10* state) {
  const unsigned x = simt::draw(state), y = simt::draw(state), z = simt::draw(state);
  return uint4{x, y, z, simt::draw(state)};
}

inline float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  const uint4 bits = curand4(state);
  return float4{
      simt::uniform_of(bits.x), simt::uniform_of(bits.y), simt::uniform_of(bits.z),
      simt::uniform_of(bits.w)};
}

inline double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  const uint4 bits = curand4(state);
  return double2{simt::uniform_of(bits.x, bits.y), simt::uniform_of(bits.z, bits.w)};
}

inline float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const float2 first = curand_normal2(state), second = curand_normal2(state);
  return float4{first.x, first.y, second.x, second.y};
}
