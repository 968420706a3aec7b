// The tables of src/experiments/kernels.cu, and where in them a variant is.
#pragma once

#include <cstddef>
#include <string>

#include "model/stage.h"

// The copies for the CPU.
extern const model::StageTable experiment_table_traced;
extern const model::StageTable experiment_table_plain;

namespace experiments {

// The kernels' own, not their traced copies, for registers and names.
const model::StageTable& own_table();

struct Place {
  std::size_t stage, variant;
};

// Where a table has that variant; "" is the stage's default.
Place find(int number, const std::string& variant);

// As the table has it, with that much more shared memory.
model::Variant variant_in(const model::StageTable& table, Place place, int padding_bytes);

}  // namespace experiments
