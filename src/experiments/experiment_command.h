// --experiment NAME: makes the launches of an experiment and prints what they show.
#pragma once

#include <string>

#include "flags/flags.h"

namespace experiments {

// Runs the experiment that `flags` name, or lists them all. `command` is the command as typed.
// Every launch is traced on the CPU: some blocks, for two short K, from which the counts for the
// whole K are extrapolated (--trace all: everything). On a GPU it is timed and compared with
// cuBLAS; without one, the traced result is compared with fp64. Returns the exit code: 0, or 1 for
// a wrong result or a hazard. Throws a Refusal for an unknown name, and for flags that the
// experiment does not use.
int run_experiment(const flags::Flags& flags, const std::string& command);

}  // namespace experiments
