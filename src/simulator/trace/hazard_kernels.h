// Small kernels like those of students and other repositories, some with one fault, and exactly
// what must be found in each.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
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

// The names of hazards, for tests.

inline const std::map<model::HazardKind, const char*> kHazardNames = {
    {model::HazardKind::index_out_of_range, "index_out_of_range"},
    {model::HazardKind::out_of_bounds, "out_of_bounds"},
    {model::HazardKind::host_memory, "host_memory"},
    {model::HazardKind::freed_memory, "freed_memory"},
    {model::HazardKind::misaligned, "misaligned"},
    {model::HazardKind::barrier_divergence, "barrier_divergence"},
    {model::HazardKind::race, "race"},
    {model::HazardKind::uninitialized, "uninitialized"},
    {model::HazardKind::copy_not_waited_for, "copy_not_waited_for"},
    {model::HazardKind::race_on_result, "race_on_result"},
    {model::HazardKind::race_between_blocks, "race_between_blocks"},
    {model::HazardKind::read_only_is_stored, "read_only_is_stored"},
    {model::HazardKind::copy_of_bad_size, "copy_of_bad_size"},
    {model::HazardKind::copy_of_bad_zeros, "copy_of_bad_zeros"},
    {model::HazardKind::copy_to_global, "copy_to_global"},
    {model::HazardKind::copy_from_shared, "copy_from_shared"},
    {model::HazardKind::tile_not_waited_for, "tile_not_waited_for"},
    {model::HazardKind::tile_in_use, "tile_in_use"},
    {model::HazardKind::not_fenced, "not_fenced"},
    {model::HazardKind::store_not_waited_for, "store_not_waited_for"},
    {model::HazardKind::nothing_shuffled, "nothing_shuffled"},
    {model::HazardKind::bad_width, "bad_width"},
    {model::HazardKind::never_written, "never_written"},
    {model::HazardKind::sum_in_flight, "sum_in_flight"},
    {model::HazardKind::several_barriers, "several_barriers"},
    {model::HazardKind::threads_left, "threads_left"}};

// "race uninitialized": each kind once.
inline std::string names_of(const std::vector<model::Hazard>& hazards) {
  std::set<std::string> kinds;
  for (const model::Hazard& hazard : hazards) kinds.insert(kHazardNames.at(hazard.kind));
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " ") + kind;
  return text;
}

}  // namespace trace
