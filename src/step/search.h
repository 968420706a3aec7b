// A search for a line of the kernel, by a part of its text or by its number.
#pragma once

#include "step/key.h"
#include "step/scene.h"
#include "step/state.h"

namespace step {

// Goes on to the next step that is on such a line, from the end of the block to its beginning.
void search(const StepScene& scene, StepState& state);

// A key while what is searched for is being typed.
void type(const StepScene& scene, StepState& state, Key key);

}  // namespace step
