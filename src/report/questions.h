// The answers to a stage's questions, computed for a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/stage.h"

namespace report {

// Those of the row's stage, or of its variant if that has others, that make sense on the run's GPU.
std::vector<model::Question> questions_of(const lab::Run& run, const lab::Row& row);

// The formula's value. Beside formula_names() a formula may name `pipeline` and what
// was traced or worked out for `row`: `sectors` (per GMEM load request), `wavefronts` (per SMEM
// load request), `conflicts` (of all SMEM requests, in the traced blocks), `blocks_per_sm` and
// `warps_per_sm`. None where the row lacks what the formula names.
std::optional<double> value_of(
    const model::Question& question, const lab::Run& run, const lab::Row& row);

// "formula = numbers = value unit"; empty where there is no value.
std::string answer_of(const model::Question& question, const lab::Run& run, const lab::Row& row);

}  // namespace report
