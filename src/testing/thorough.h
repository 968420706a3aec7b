// How much is tested: `make test-all` also tests what takes long and seldom finds what `make test`
// does not.
#pragma once

#include <cstdlib>

namespace testing {

inline bool tests_all() {
  return std::getenv("GEMM_STEPS_TEST_ALL") != nullptr;
}

}  // namespace testing
