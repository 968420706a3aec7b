#include <doctest/doctest.h>

#include <string>

#include "testing/program.h"

namespace testing {

TEST_CASE(
    "a test's variables are gone after it, and those of make's users do not reach its programs") {
  const auto shown = [] { return run("echo ${OUT-none} ${SEED-none} ${TESTED-none}").out; };
  {
    const Variable out("OUT", "/nonexistent"), seed("SEED", "x"), own("TESTED", "a");
    CHECK(shown() == "none none a\n");
    const Variable again("TESTED", nullptr);
    CHECK(shown() == "none none none\n");
  }
  CHECK(shown() == "none none none\n");
  CHECK(run("SEED=5 bash -c 'echo $SEED'").out == "5\n");
}

}  // namespace testing
