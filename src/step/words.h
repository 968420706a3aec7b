// The state of an array's words at one step, and what the step does to them.
#pragma once

#include <cstddef>
#include <string>

#include "step/scene.h"

namespace step {

// A sign for each word of the array: . empty, ~ an async copy is in flight, o filled, # accessed in
// this step, ! in a bank conflict or a race in this step.
std::string signs_of_words(const StepScene& scene, std::size_t at, int array);

}  // namespace step
