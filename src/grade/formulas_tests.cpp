#include <doctest/doctest.h>

#include <string>

#include "testing/program.h"

namespace grade {

// With Q = 5, M*(K - K/Q) is 4*M*K/Q, which is another mistake. This seed draws it first.
TEST_CASE("a formula that is a typical mistake in one case by chance is not told so") {
  const testing::Folder folder;
  folder.write("answer.txt", "answer received_1d: M*(K - K/Q)\n");
  const testing::Output graded = testing::run(
      "BUILD='" + testing::built().string() + "' SEED=40 HINT=2 src/grade/grade.sh 18 '" +
      (folder / "answer.txt") + "' 2>&1");
  CAPTURE(graded.out);
  CHECK(graded.exit_code == 1);
  CHECK(graded.out.find(", Q 5,") != std::string::npos);
  CHECK(graded.out.find("that is the number of floats; a float has 4 bytes") != std::string::npos);
}

}  // namespace grade
