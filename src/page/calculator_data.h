// What the page's calculators need to know, as JSON.
#pragma once

#include <string>

#include "model/stage.h"

namespace page {

// {gpus, kernels, tiles}: every GPU of the table; the threads, registers and shared memory of each
// stage's kernels, by compute capability; and the tile sizes and formulas of the stages whose
// threads copy one tile at a time. src/page/rules.js takes the GPUs and the formulas as they are.
std::string calculator_data(const model::StageTable& table);

// Whether the tile calculator knows the kernels of a stage, and how many floats they move at once.
bool has_plain_tiles(const model::Stage& stage);
int floats_at_once(const model::Stage& stage);

}  // namespace page
