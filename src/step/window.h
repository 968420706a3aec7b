// The visible part of an array's picture.
#pragma once

#include "step/scene.h"
#include "step/state.h"

namespace step {

// The array that is shown, and the word near which the picture starts: that of the access, or the
// one that the user scrolled to. No array: -1.
struct StepWindow {
  int array = -1;
  int row = 0, column = 0;
  int rows = 0, columns = 0;  // of the array, in words
};
StepWindow window_of(const StepScene& scene, const StepState& state);

// Selects the next array that some step accesses. After the last comes the choice to follow each
// access.
void choose_array(const StepScene& scene, StepState& state);

// Moves the visible part by these rows and columns, as many times as the state's count says.
void scroll(const StepScene& scene, StepState& state, int rows, int columns);

}  // namespace step
