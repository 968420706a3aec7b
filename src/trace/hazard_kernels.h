// Small kernels like those of students and other repositories, some with one fault, and exactly
// what must be found in each.
#pragma once

#include <optional>
#include <vector>

#include "model/counts.h"

namespace trace {

struct HazardKernel {
  const char* text;
  void (*run)(const float* in, float* out);            // 1024 floats each; `out` is the result
  const char* finds;                                   // names of hazards and notes, or ""
  std::optional<model::Remedy> remedy = std::nullopt;  // what at least one of them needs
};
extern const std::vector<HazardKernel> hazards_in_shared_memory, hazards_of_warps,
    hazards_of_pipelines, hazards_in_global_memory, hazards_of_order;

}  // namespace trace
