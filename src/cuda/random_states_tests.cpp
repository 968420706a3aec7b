#include "cuda/random_states.h"

#include <doctest/doctest.h>

namespace simt {

TEST_CASE("Philox4x32-10 gives the numbers of its authors' test vectors") {
  const auto check = [](uint4 counter, uint2 key, uint4 expected) {
    const uint4 found = philox(counter, key);
    CHECK(found.x == expected.x);
    CHECK(found.y == expected.y);
    CHECK(found.z == expected.z);
    CHECK(found.w == expected.w);
  };
  check(uint4{0, 0, 0, 0}, uint2{0, 0}, uint4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr unsigned kOnes = 0xffffffff;
  check(
      uint4{kOnes, kOnes, kOnes, kOnes}, uint2{kOnes, kOnes},
      uint4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("XORWOW gives Marsaglia's numbers for his state") {
  curandStateXORWOW state = {};
  state.d = 6615241;
  const unsigned words[] = {123456789, 362436069, 521288629, 88675123, 5783321};
  for (int i = 0; i < 5; ++i) state.v[i] = words[i];
  for (const unsigned expected : {246875399u, 3690007200u, 1264581005u, 3906711041u}) {
    CHECK(draw(&state) == expected);
  }
}

TEST_CASE("MRG32k3a gives L'Ecuyer's numbers for his state") {
  curandStateMRG32k3a state = {};
  for (int i = 0; i < 3; ++i) state.s1[i] = state.s2[i] = 12345;
  for (const double expected : {0.1270111501, 0.3185275653, 0.3091860155, 0.8258468629}) {
    CHECK(draw(&state) * 0x1p-32 == doctest::Approx(expected).epsilon(1e-7));
  }
}

TEST_CASE("skipping is drawing, also over the end of Philox's counter") {
  for (const unsigned long long count : {1ull, 3ull, 4ull, 9ull, 1000ull}) {
    CAPTURE(count);
    curandStatePhilox4_32_10 drawn = {}, skipped = {};
    for (auto* state : {&drawn, &skipped}) {
      state->ctr = uint4{0xfffffff0, 0xffffffff, 5, 6};
      state->key = uint2{7, 8};
      state->STATE = 2;
      state->output = philox(state->ctr, state->key);
    }
    for (unsigned long long i = 0; i < count; ++i) draw(&drawn);
    skip(&skipped, count);
    CHECK(skipped.ctr.x == drawn.ctr.x);
    CHECK(skipped.ctr.z == drawn.ctr.z);
    CHECK(draw(&skipped) == draw(&drawn));
  }
}

}  // namespace simt
