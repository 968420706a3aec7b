// A place in a block's work, given in words: "barrier:2".
#pragma once

#include <string>

#include "step/scene.h"
#include "step/state.h"

namespace step {

// The state at "barrier:2", "line:171", "step:40", "hazard:1" or "end" of the block. Throws a
// Refusal that begins with `asked` if `text` is none of these or there is no such place.
StepState move_to(
    const StepScene& scene, StepState state, const std::string& text, const std::string& asked);

}  // namespace step
