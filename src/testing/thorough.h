// How much is tested. `make test` tests a part of what takes long, another part in each run; with
// GEMM_STEPS_THOROUGH=1, as in .ci/run, that part is twice as large. `make test-all` tests all.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace testing {

inline bool tests_all() {
  return std::getenv("GEMM_STEPS_TEST_ALL") != nullptr;
}
inline bool thorough() {
  return tests_all() || std::getenv("GEMM_STEPS_THOROUGH") != nullptr;
}

// Whether to test the case with this number, of which one in so many is enough.
inline bool chosen(int number, int one_in) {
  static const int start = getpid();
  return tests_all() || (start + number) % (thorough() ? (one_in + 1) / 2 : one_in) == 0;
}

}  // namespace testing
