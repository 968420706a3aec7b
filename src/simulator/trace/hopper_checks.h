// The effects of sm_90a's instructions on data, checked bit by bit against src/model/, on a GPU and
// on the CPU: one source for both machines.
#pragma once

#include <string>
#include <vector>

namespace trace {

struct HopperCheck {
  const char* text;
  std::string (*run)();  // what was wrong; empty: nothing
};
extern const std::vector<HopperCheck> hopper_checks;
extern const std::vector<HopperCheck>
    plain_hopper_checks;  // not traced (src/simulator/trace/trace.mk)

// A pipeline with one mistake (trace/hopper_pipeline.h), and the expected finding: names of
// hazards, part of a fault's sentence, or "wrong result".
struct HopperMutant {
  const char* mistake;
  std::string (*result)();
  const char* finds;
};
extern const std::vector<HopperMutant> hopper_mutants, hopper_misuses;

}  // namespace trace
