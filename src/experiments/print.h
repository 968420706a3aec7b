// Prints the results of an experiment.
#pragma once

#include <cstdio>
#include <span>

#include "experiments/experiment.h"
#include "lab/run.h"
#include "report/facts.h"
#include "text/style.h"

namespace experiments {

// The table, as wide as the report (with columns that do not fit below it), or JSON, with the
// conclusion last; CSV has only the trials. `about` has the GPU, the date and the command.
void print_experiment(
    std::FILE* out, const Experiment& experiment, const lab::Run& about,
    std::span<const Trial> trials, report::Format format, text::Style style);

void print_experiments(std::FILE* out, report::Format format);  // --experiment list

}  // namespace experiments
