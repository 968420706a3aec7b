#include <doctest/doctest.h>

#include "testing/program.h"

namespace grade {

// What else is checked there: src/grade/check.sh. Exercises whose solutions are not here (a
// lecturer may ship without) are left out, with a message.
TEST_CASE("solutions pass; skeletons, typical mistakes, the ladder and all deceptions fail") {
  const testing::Output check =
      testing::run("src/grade/check.sh '" + testing::built().string() + "' 2>&1");
  CAPTURE(check.out);
  CHECK(check.exit_code == 0);
}

}  // namespace grade
