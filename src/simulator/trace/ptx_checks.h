// The effects of inline PTX, checked against plain C++, on a GPU and on the CPU: one source for
// both machines. For the CPU it goes through src/simulator/rewrite/.
#pragma once

#include <string>
#include <vector>

namespace trace {

struct PtxCheck {
  const char* text;
  std::string (*run)();  // what was wrong; empty: nothing
};
extern const std::vector<PtxCheck> ptx_checks;

// The same kernel in CUDA C++ and in PTX.
struct PtxTwins {
  const char* text;
  void (*written)();
  void (*in_ptx)();
};
extern const std::vector<PtxTwins> ptx_twins;

// A kernel, and what must be found in it: names of hazards, or part of a fault's sentence.
struct PtxMisuse {
  const char* text;
  void (*run)();
  const char* finds;
};
extern const std::vector<PtxMisuse> ptx_misuses;

}  // namespace trace
