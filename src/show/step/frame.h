// One state of stepping, drawn as a frame of text.
#pragma once

#include <string>
#include <vector>

#include "show/step/navigation.h"
#include "show/step/scene.h"

namespace step {

struct StepStyle {
  bool colour = false;
  bool ascii = false;
};

// At most `rows` lines of at most `columns` columns.
std::vector<std::string> render(
    const StepScene& scene, const StepState& state, int rows, int columns, StepStyle style);

}  // namespace step
