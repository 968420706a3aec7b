#include "try/kernels.h"

#include <algorithm>
#include <cstdint>

#include "machine/symbols.h"
#include "model/gpus.h"
#include "try/compiled_code.h"

namespace attempt {

void Kernels::add_launch(const machine::Launch& launch, const model::Counts& counts, int M, int N) {
  for (Entry& entry : entries) {
    if (entry.function != launch.kernel) continue;
    model::add(entry.counts, counts);
    entry.counts.blocks += counts.blocks;
    ++entry.shape.launches;
    return;
  }
  Entry& entry = entries.emplace_back();
  entry.function = launch.kernel;
  entry.name = machine::function_name(launch.kernel);
  entry.counts = counts;
  entry.shape = {
      {launch.grid.x, launch.grid.y, launch.grid.z},
      {launch.block.x, launch.block.y, launch.block.z},
      launch.static_shared_bytes,
      launch.dynamic_shared_bytes,
      1};
  // The part of C that each block computes, if the blocks share C evenly.
  const auto share = [](int of, unsigned blocks) {
    return static_cast<int>((of + std::int64_t{blocks} - 1) / blocks);
  };
  entry.variant.name = "";
  entry.variant.BM = share(M, launch.grid.y);
  entry.variant.BN = share(N, launch.grid.x);
  entry.variant.block_x = static_cast<int>(launch.block.x);
  entry.variant.block_y = static_cast<int>(launch.block.y * launch.block.z);
  entry.variant.shared_bytes = launch.dynamic_shared_bytes;
  entry.variant.kernel.name = entry.name.c_str();
}

void Kernels::add_hazards(const machine::Launch& launch, const model::Counts& counts) {
  const std::string name = machine::function_name(launch.kernel);
  for (Entry& entry : entries) {
    if (entry.name != name) continue;
    for (const model::Hazard& hazard : counts.hazards) model::add(entry.counts.hazards, hazard);
  }
}

void Kernels::add_hazard(const void* function, const model::Hazard& hazard) {
  for (Entry& entry : entries) {
    if (entry.function == function) model::add(entry.counts.hazards, hazard);
  }
}

bool Kernels::any_abandoned() const {
  return std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return model::has_fatal(entry.counts);
  });
}

bool Kernels::several_launches() const {
  return entries.size() > 1 || std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
           return entry.shape.launches > 1;
         });
}

bool Kernels::all_traced() const {
  return std::all_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return entry.counts.blocks_traced == entry.counts.blocks;
  });
}

lab::Row row_of(
    const model::Gpu& model, const Kernels::Entry& entry, std::optional<int> registers,
    int number) {
  lab::Row row;
  row.number = number;
  row.name = entry.name;
  row.variant = &entry.variant;
  row.launch = entry.shape;
  row.counts = entry.counts;
  if (!registers) registers = compiled_registers(entry.name, model.compute_capability);
  row.occupancy = model::occupancy(
      model, {entry.variant.threads(), registers.value_or(0),
              entry.shape.static_shared_bytes + entry.shape.dynamic_shared_bytes});
  return row;
}

}  // namespace attempt
