// What the flags choose: an experiment, its problem and its launches.
#pragma once

#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "flags/flags.h"

namespace experiments {

// Throws a Refusal that lists them all if there is none of that name.
const Experiment& find_experiment(const std::string& name);

void refuse_useless_flags(const flags::Flags& flags, const Experiment& experiment);

// --m, --n and --k before --size before the experiment's own.
Sides sides_of(const flags::Flags& flags, const Experiment& experiment);

// Of the experiment's launches those of --stage. `about` has the GPU.
std::vector<Launch> launches_of(
    const flags::Flags& flags, const lab::Run& about, const Experiment& experiment);

}  // namespace experiments
