// Small kernels like those of students and other repositories, some with one fault, and the exact
// hazards that must be found in each.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/warp_access.h"

namespace trace {

struct HazardKernel {
  const char* text;
  void (*run)(const float* in, float* out);            // 1024 floats each; `out` is the result
  const char* finds;                                   // names of hazards and notes, or ""
  std::optional<model::Remedy> remedy = std::nullopt;  // the remedy that at least one of them has
};
extern const std::vector<HazardKernel> hazards_in_shared_memory, hazards_of_warps,
    hazards_of_pipelines, hazards_in_global_memory, hazards_of_order;

// A block that calls `late`, which returns late, and then, if asked to, waits for a barrier.
extern void (*const run_until)(void (*late)(), bool then_barrier);

// "race uninitialized": each kind once.
inline std::string names_of(const std::vector<model::Hazard>& hazards) {
  std::set<std::string> kinds;
  for (const model::Hazard& hazard : hazards) kinds.insert(model::entry_of(hazard.kind).name);
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " ") + kind;
  return text;
}

}  // namespace trace
