#include <doctest/doctest.h>

#include "lab/example_run.h"
#include "lab/rates.h"

namespace lab {

TEST_CASE("a kernel that does not fit on the GPU, or multiplies nothing, has no ceiling") {
  Run run = example::traced_run();
  run.rows[3].occupancy->blocks_per_sm = 0;
  CHECK(!compiled_ceiling(run, run.rows[3]));
  CHECK(!written_ceiling(run, run.rows[3]));
  CHECK(compiled_ceiling(run, run.rows[2]));
  run.alpha = 0;
  CHECK(!compiled_ceiling(run, run.rows[2]));
}

TEST_CASE("a speed is compared with the ceiling at its own size") {
  Run small = example::timed_run();
  const Row& row = small.rows[3];
  REQUIRE(small.M == 256);
  Run large = small;
  large.M = large.N = 8192;
  const double at_small = compiled_ceiling(small, row)->tflops,
               at_large = compiled_ceiling(large, row)->tflops;
  // 4 blocks of 128 x 128 keep 4 of 82 SMs busy, 4096 blocks 99.9 % of them.
  CHECK(at_large / at_small == doctest::Approx(4096.0 / (50 * 82) / (4.0 / 82)));
  CHECK(*ceiling_ratio(small, row) == doctest::Approx(*tflops(small, row) / at_small));
  CHECK(*ceiling_ratio(large, row) == doctest::Approx(*tflops(large, row) / at_large));
}

}  // namespace lab
