// --experiment NAME: makes the launches of an experiment and prints what they show.
#pragma once

#include <string>

#include "flags/flags.h"

namespace experiments {

// Runs the experiment that `flags` name, or lists them all. `command` is what was typed. Every
// launch is traced on the CPU: some blocks, along the first of K, from which follows what they do
// along all of it (--trace all: everything). On a GPU it is timed and compared with cuBLAS, without
// one what was traced is compared with fp64. Returns the exit code: 0, or 1 for a wrong result or a
// hazard. Throws a Refusal for an unknown name, and for flags that an experiment has no use for.
int run_experiment(const flags::Flags& flags, const std::string& command);

}  // namespace experiments
