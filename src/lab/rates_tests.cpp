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

}  // namespace lab
