#include <doctest/doctest.h>

#include <set>
#include <string>

#include "trace/hazard_names.h"
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

TEST_CASE("every mistake in a pipeline is found") {
  REQUIRE(!hopper_mutants.empty());
  for (const HopperMutant& mutant : hopper_mutants) {
    CAPTURE(std::string(mutant.mistake));
    const std::string expected = mutant.finds;
    std::string result;
    try {
      const model::Counts counts =
          trace({model::find_gpu("H200")}, {}, [&] { result = mutant.result(); });
      const std::string hazards = names_of(counts.hazards);
      CHECK((hazards.empty() ? result : hazards) == expected);
    } catch (const machine::KernelFault& fault) {
      const std::string said = fault.what();
      CAPTURE(said);
      CHECK(expected != "");
      CHECK(said.find(expected) != std::string::npos);
    }
  }
}

}  // namespace trace
