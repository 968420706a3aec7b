// How much is tested. `make test` tests a part of what takes long, other parts in each run; with
// GEMM_STEPS_THOROUGH=1, as in .ci/run, and in `make test-all`, all of it is tested.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace testing {

inline bool thorough() {
  return std::getenv("GEMM_STEPS_THOROUGH") != nullptr ||
         std::getenv("GEMM_STEPS_TEST_ALL") != nullptr;
}

// Whether to test the case with this number, of which one in so many is enough.
inline bool chosen(int number, int one_in) {
  static const int start = getpid();
  return thorough() || (start + number) % one_in == 0;
}

}  // namespace testing
