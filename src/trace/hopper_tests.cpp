#include <doctest/doctest.h>

#include <string>

#include "trace/hopper_checks.h"
#include "trace/trace.h"

namespace trace {

TEST_CASE("the instructions of sm_90a move data on the CPU as on the GPU") {
  REQUIRE(!hopper_checks.empty());
  for (const HopperCheck& check : hopper_checks) {
    CAPTURE(std::string(check.text));
    std::string wrong;
    const model::Counts counts =
        trace({model::find_gpu("H200")}, {}, [&] { wrong = check.run(); });
    CHECK(wrong == "");
    CHECK(counts.hazards.empty());
  }
}

}  // namespace trace
