#include "experiments/kernel_tables.h"

#include <span>
#include <stdexcept>

// The GPU's copy of the table if nvcc compiled one; else null.
extern const model::StageTable experiment_table __attribute__((weak));

namespace experiments {

const model::StageTable& own_table() {
  return &experiment_table != nullptr ? experiment_table : experiment_table_plain;
}

Place find(int number, const std::string& variant) {
  const std::span<const model::Stage> stages = own_table().stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (std::size_t v = 0; v < stages[s].variants.size(); ++v) {
      const bool wanted = variant.empty() || variant == stages[s].variants[v].name;
      if (stages[s].number == number && wanted) return {s, v};
    }
  }
  throw std::logic_error("no such variant: " + variant);
}

model::Variant variant_in(const model::StageTable& table, Place place, int padding_bytes) {
  model::Variant variant = table.stages[place.stage].variants[place.variant];
  variant.shared_bytes += padding_bytes;
  return variant;
}

}  // namespace experiments
