// One state of stepping, drawn as a frame of text.
#pragma once

#include <string>
#include <vector>

#include "step/line.h"
#include "step/scene.h"
#include "step/state.h"

namespace step {

// At most `rows` lines of at most `columns` columns.
std::vector<std::string> render(
    const StepScene& scene, const StepState& state, int rows, int columns, StepStyle style);

}  // namespace step
