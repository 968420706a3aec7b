// The tables of src/experiments/kernels.cu, and the variants in them.
#pragma once

#include <cstddef>
#include <string>

#include "model/stage.h"

// The copies for the CPU.
extern const model::StageTable experiment_table_traced;
extern const model::StageTable experiment_table_plain;

namespace experiments {

// The kernels' own copies rather than their traced ones, for registers and names.
const model::StageTable& own_table();

struct Place {
  std::size_t stage, variant;
};

// The position of that variant in a table; "" is the stage's first.
Place find(int number, const std::string& variant);

// The variant from the table, with this much more shared memory.
model::Variant variant_in(const model::StageTable& table, Place place, int padding_bytes);

}  // namespace experiments
