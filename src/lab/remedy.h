// The later stage that makes the costliest request of a stage cheaper.
#pragma once

#include "lab/problem.h"
#include "lab/run.h"

namespace lab {

// Traces the stages in `table` (its traced copy) after row.stage, in order, with the variants that
// compare with the row's (model/stage.h), on the same problem and for the same GPU. Stops at the
// first stage in which the row's worst request wastes less and takes fewer sectors or wavefronts.
// Returns nothing if no line of the row wastes anything, and a Remedy without a stage if there is
// no such stage. Stages that this GPU cannot launch are skipped.
std::optional<Remedy> find_remedy(
    const Problem& problem, const model::Gpu& gpu, const model::StageTable& table, const Row& row);

}  // namespace lab
