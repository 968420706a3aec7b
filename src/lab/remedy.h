// The later stage in which the costliest request of a stage costs less.
#pragma once

#include "lab/problem.h"
#include "lab/run.h"

namespace lab {

// Traces the default variants of the stages of `table` (its traced copy) after row.stage, one after
// the other, on the same problem and for the same GPU, until one is found in which row's worst
// request wastes less and takes fewer sectors or wavefronts. None where no line of the row wastes
// anything; a Remedy without a stage where none mends it. A stage that this GPU would refuse to
// launch mends nothing.
std::optional<Remedy> find_remedy(
    const Problem& problem, const model::Gpu& gpu, const model::StageTable& table, const Row& row);

}  // namespace lab
