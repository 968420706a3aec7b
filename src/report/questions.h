// The answers to a stage's questions, computed for a run.
#pragma once

#include <string>

#include "lab/run.h"
#include "model/stage.h"

namespace report {

// "formula = numbers = value unit". Beside formula_names() a formula may name `pipeline` and what
// was traced or worked out for `row`: `sectors` (per GMEM load request), `wavefronts` (per SMEM
// load request), `conflicts` (of all SMEM requests, in the traced blocks), `blocks_per_sm` and
// `warps_per_sm`. Empty where the row lacks what the formula names.
std::string answer_of(const model::Question& question, const lab::Run& run, const lab::Row& row);

}  // namespace report
