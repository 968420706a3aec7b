// The parts of a frame, from top to bottom.
#pragma once

#include <cstddef>
#include <vector>

#include "model/recording.h"
#include "step/line.h"
#include "step/scene.h"
#include "step/state.h"

namespace step {

std::vector<Line> header(const StepScene& scene, const StepState& state, StepStyle style);

// The lines of the kernel around the `current` one; 0 if there is none.
std::vector<Line> source_around(const StepScene& scene, int current, int rows);

Line deed(const StepScene& scene, const model::RecordedEvent& event);  // the step in words
// The chosen lane's part in the step.
Line chosen_lane(const StepScene& scene, const StepState& state);

// Which lane accesses which word. For global memory: rows of 128 bytes, with the fetched sectors
// between bars. For shared memory: a row for each wavefront, with its banks side by side.
std::vector<Line> picture_of_access(const StepScene& scene, const StepState& state);

// The title and up to `rows` rows of the visible part of an array, with a sign for each word.
std::vector<Line> picture_of_array(
    const StepScene& scene, const StepState& state, int rows, int columns);

std::vector<Line> hazards_now(const StepScene& scene, const StepState& state, int columns);

std::vector<Line> counts_so_far(const StepScene& scene, std::size_t at);  // of this block

Line footer(const StepState& state);

std::vector<Line> help_lines();  // replaces everything but the footer

}  // namespace step
