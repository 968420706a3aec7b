// The part of an array whose picture is shown.
#pragma once

#include "step/scene.h"
#include "step/state.h"

namespace step {

// The array whose picture is shown, and the word of it that the picture begins near: where the
// access is, or what was scrolled to. No array: -1.
struct StepWindow {
  int array = -1;
  int row = 0, column = 0;
  int rows = 0, columns = 0;  // of the array, in words
};
StepWindow window_of(const StepScene& scene, const StepState& state);

// Takes the next array that something touches; behind the last comes the one of each access.
void choose_array(const StepScene& scene, StepState& state);

// Moves the window by so many rows and columns, as many times as the state's count says.
void scroll(const StepScene& scene, StepState& state, int rows, int columns);

}  // namespace step
