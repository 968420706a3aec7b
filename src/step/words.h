// What is in the words of an array at one step, and what happens to them there.
#pragma once

#include <cstddef>
#include <string>

#include "step/scene.h"

namespace step {

// A sign for each word of the array: . empty, ~ an async copy is coming, o filled, # accessed in
// this step, ! in a bank conflict or a race in this step.
std::string signs_of_words(const StepScene& scene, std::size_t at, int array);

}  // namespace step
