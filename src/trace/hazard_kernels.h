// Small kernels as students and other repositories write them, some with one fault, and what must
// be found in each: no more and no less.
#pragma once

#include <vector>

namespace trace {

struct HazardKernel {
  const char* text;
  void (*run)(const float* in, float* out);  // 1024 floats each; `out` is the result
  const char* finds;                         // names of hazards and notes, or ""
};
extern const std::vector<HazardKernel> hazards_in_shared_memory, hazards_of_warps,
    hazards_in_global_memory;

}  // namespace trace
