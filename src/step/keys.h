// What each key does.
#pragma once

#include "step/key.h"
#include "step/scene.h"
#include "step/state.h"

namespace step {

// The state after that key. Where state.scene changes, the caller must bring that scene and put the
// state at its beginning with first_state.
StepState apply(const StepScene& scene, StepState state, Key key);

}  // namespace step
