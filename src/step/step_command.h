// --step: steps through one block's recorded work, on a terminal or as text.
#pragma once

#include <cstdio>

#include "flags/flags.h"
#include "model/stage.h"
#include "step/recorded_run.h"
#include "step/stepper.h"

namespace step {

// Whether --step uses a terminal: printing was not requested, and there is a terminal.
bool steps_on_terminal(const flags::Flags& flags);

// Shows the scenes, on the terminal or as text on `out`. Returns the exit code: 0, or 1 if it
// printed a frame of a scene with a hazard or a fault.
int step(const flags::Flags& flags, const StepScenes& scenes, bool on_terminal, std::FILE* out);

// gemm_steps --step: shows the stages of `traced`, a table whose kernels have the tracer's hooks,
// at sizes of two blocks and two tiles of K.
int step_stages(const flags::Flags& flags, const model::StageTable& traced);

}  // namespace step
