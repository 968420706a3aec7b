// The effect of each key.
#pragma once

#include "step/key.h"
#include "step/scene.h"
#include "step/state.h"

namespace step {

// The state after that key. If state.scene changes, the caller must load that scene and reset the
// state to its start with first_state.
StepState apply(const StepScene& scene, StepState state, Key key);

}  // namespace step
