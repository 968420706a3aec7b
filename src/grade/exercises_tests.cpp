#include <doctest/doctest.h>

#include "grade/exercise.h"
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

TEST_CASE("whatever the seed, C has three rows and three columns of tiles, and M is not N") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    for (const auto& [BM, BN] : {std::pair{8, 32}, {16, 32}, {64, 64}, {48, 64}, {128, 32}}) {
      const Shape whole = random.tiles(BM, BN, 5, 1);
      CHECK((whole.M % BM == 0 && whole.N % BN == 0 && whole.K == 5 && whole.variant == 1));
      CHECK((whole.M >= 3 * BM && whole.N >= 3 * BN && whole.M != whole.N));
      const Shape cut = random.cut_tiles(BM, BN, 5);
      CHECK((cut.M > 2 * BM && cut.N > 2 * BN && cut.M % BM != 0 && cut.N % BN != 0));
      const Shape part = random.part_of_tile(BM, BN, 5);
      CHECK((part.M > 0 && part.M < BM && part.N > 0 && part.N < BN));
    }
  }
}

}  // namespace grade
