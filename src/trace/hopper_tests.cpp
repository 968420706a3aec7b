#include <doctest/doctest.h>

#include <string>
#include <vector>

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

TEST_CASE("the instructions of sm_90a move data in kernels that are not traced") {
  REQUIRE(!plain_hopper_checks.empty());
  for (const HopperCheck& check : plain_hopper_checks) {
    CAPTURE(std::string(check.text));
    std::string wrong;
    CHECK(machine::run({model::find_gpu("H200")}, [&] { wrong = check.run(); }).empty());
    CHECK(wrong == "");
  }
}

namespace {

// Each must give exactly these hazards, or that fault, or that result.
void check(const std::vector<HopperMutant>& mutants) {
  REQUIRE(!mutants.empty());
  for (const HopperMutant& mutant : mutants) {
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

}  // namespace

TEST_CASE("every mistake in a pipeline is found") {
  check(hopper_mutants);
}

TEST_CASE("small kernels that misuse barriers, boxes and wgmma are found, and no correct ones") {
  check(hopper_misuses);
}

}  // namespace trace
