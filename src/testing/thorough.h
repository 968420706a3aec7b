// How much is tested. `make test` tests a part of what takes long, another part in each run, and
// `make test-all` all of it.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace testing {

inline bool tests_all() {
  return std::getenv("GEMM_STEPS_TEST_ALL") != nullptr;
}

// Whether to test the case with this number, of which one in so many is enough.
inline bool chosen(int number, int one_in) {
  static const int start = getpid();
  return tests_all() || (start + number) % one_in == 0;
}

}  // namespace testing
