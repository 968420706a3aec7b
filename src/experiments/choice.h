// What the flags choose: an experiment, its problem and its launches.
#pragma once

#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "flags/flags.h"

namespace experiments {

// Throws a Refusal that lists all experiments if there is none with that name.
const Experiment& find_experiment(const std::string& name);

void refuse_useless_flags(const flags::Flags& flags, const Experiment& experiment);

// --m, --n and --k override --size, which overrides the experiment's own sizes.
Sides sides_of(const flags::Flags& flags, const Experiment& experiment);

// The experiment's launches, or those of --stage. `about` has the GPU.
std::vector<Launch> launches_of(
    const flags::Flags& flags, const lab::Run& about, const Experiment& experiment);

}  // namespace experiments
