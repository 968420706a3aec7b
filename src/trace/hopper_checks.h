// What the instructions of sm_90a do with data, checked bit by bit against src/model/, on a GPU and
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

}  // namespace trace
