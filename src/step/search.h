// A search for a line of the kernel, by part of its text or by its number.
#pragma once

#include "step/key.h"
#include "step/scene.h"
#include "step/state.h"

namespace step {

// Goes to the next step on such a line. After the end of the block it continues at the start.
void search(const StepScene& scene, StepState& state);

// Handles a key while the search text is being typed.
void type(const StepScene& scene, StepState& state, Key key);

}  // namespace step
