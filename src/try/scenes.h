// make step: each launch of a user's file is a scene.
#pragma once

#include "step/step_command.h"

namespace attempt {

// `run` must outlive the scenes. M, N and K are the product's; 0: there is none.
step::StepScenes scenes_of(const step::RecordedRun& run, int M, int N, int K);

}  // namespace attempt
