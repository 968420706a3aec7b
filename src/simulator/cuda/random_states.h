// The generators of cuRAND's functions for kernels: XORWOW (Marsaglia, "Xorshift RNGs", 2003),
// MRG32k3a (L'Ecuyer, "Good parameters and implementations for combined multiple recursive random
// number generators", 1999) and Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011). The states are as large as cuRAND's, so that loading one costs the same.
//
// XORWOW and MRG32k3a begin in states of our own for each seed and sequence, so their numbers
// differ from cuRAND's.
#pragma once

#include <cstdint>

#include "simulator/cuda/vector_types.h"

namespace simt {

// For the end of the program's run. A note that these are not cuRAND's numbers.
void note_numbers_drawn();

}  // namespace simt

// What a Box-Muller pair leaves for the next call.
#define SIMT_KEPT_NORMALS                    \
  int boxmuller_flag, boxmuller_flag_double; \
  float boxmuller_extra;                     \
  double boxmuller_extra_double;
struct curandStateXORWOW {
  unsigned d, v[5];
  SIMT_KEPT_NORMALS
};
struct curandStateMRG32k3a {
  unsigned s1[3], s2[3];
  SIMT_KEPT_NORMALS
};
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;  // the block counter, and the block's numbers
  uint2 key;
  unsigned STATE;  // how many of them are drawn
  SIMT_KEPT_NORMALS
};
#undef SIMT_KEPT_NORMALS

namespace simt {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
inline std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t sequence) {
  std::uint64_t of_seed = seed, of_sequence = split_mix(of_seed) ^ sequence;
  return split_mix(of_sequence);
}

template <class State>
void forget_normals(State* state) {
  state->boxmuller_flag = 0;
  state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
}

// The next number: 32 bits.
inline unsigned draw(curandStateXORWOW* state) {
  const unsigned t = state->v[0] ^ state->v[0] >> 2;
  for (int i = 0; i < 4; ++i) state->v[i] = state->v[i + 1];
  state->v[4] = state->v[4] ^ state->v[4] << 4 ^ t ^ t << 1;
  return state->v[4] + (state->d += 362437);
}

inline unsigned draw(curandStateMRG32k3a* state) {
  constexpr long long kFirst = 4294967087, kSecond = 4294944443;
  long long a = (1403580ll * state->s1[1] - 810728ll * state->s1[0]) % kFirst;
  if (a < 0) a += kFirst;
  state->s1[0] = state->s1[1];
  state->s1[1] = state->s1[2];
  state->s1[2] = static_cast<unsigned>(a);
  long long b = (527612ll * state->s2[2] - 1370589ll * state->s2[0]) % kSecond;
  if (b < 0) b += kSecond;
  state->s2[0] = state->s2[1];
  state->s2[1] = state->s2[2];
  state->s2[2] = static_cast<unsigned>(b);
  // From 1 to m1 uniformly, spread over 32 bits.
  const long long both = a > b ? a - b : a - b + kFirst;
  return static_cast<unsigned>(static_cast<double>(both - 1) * (4294967296.0 / kFirst));
}

inline uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter.x;
    const std::uint64_t b = std::uint64_t{0xcd9e8d57} * counter.z;
    counter = uint4{
        static_cast<unsigned>(b >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(b),
        static_cast<unsigned>(a >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(a)};
    key = uint2{key.x + 0x9e3779b9, key.y + 0xbb67ae85};
  }
  return counter;
}

inline void add(unsigned& low, unsigned& high, std::uint64_t more) {
  const std::uint64_t sum = (std::uint64_t{high} << 32 | low) + more;
  low = static_cast<unsigned>(sum);
  high = static_cast<unsigned>(sum >> 32);
}

inline void skip_blocks(curandStatePhilox4_32_10* state, std::uint64_t blocks) {
  add(state->ctr.x, state->ctr.y, blocks);
  if ((std::uint64_t{state->ctr.y} << 32 | state->ctr.x) < blocks) {
    add(state->ctr.z, state->ctr.w, 1);
  }
}

inline unsigned draw(curandStatePhilox4_32_10* state) {
  const unsigned number = state->STATE == 0   ? state->output.x
                          : state->STATE == 1 ? state->output.y
                          : state->STATE == 2 ? state->output.z
                                              : state->output.w;
  if (++state->STATE == 4) {
    skip_blocks(state, 1);
    state->output = philox(state->ctr, state->key);
    state->STATE = 0;
  }
  return number;
}

template <class State>
void skip(State* state, unsigned long long numbers) {
  for (; numbers > 0; --numbers) draw(state);
}

inline void skip(curandStatePhilox4_32_10* state, unsigned long long numbers) {
  const unsigned long long first = state->STATE + numbers % 4;
  skip_blocks(state, numbers / 4 + first / 4);
  state->STATE = first % 4;
  state->output = philox(state->ctr, state->key);
}

}  // namespace simt
