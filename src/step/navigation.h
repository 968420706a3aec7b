// From one step to another: along the block, and to other warps, blocks, scenes and hazards.
#pragma once

#include <cstddef>
#include <functional>

#include "step/scene.h"
#include "step/state.h"

namespace step {

// In these a state's count says how many times, and its message is why it could not go so far. `by`
// is 1 for forward, -1 for back.

void go_to(const StepScene& scene, StepState& state, std::size_t at);

using IsWanted = std::function<bool(const model::RecordedEvent& event)>;
// To the next such step of the block; the message is `none` where there is none.
void go_along(
    const StepScene& scene, StepState& state, int by, const IsWanted& is_wanted, const char* none);

// To the first step of the chosen warp between the two barriers around the present one, or near it.
void choose_warp(const StepScene& scene, StepState& state, int by);
void choose_lane(const StepScene& scene, StepState& state, int by);
void choose_block(const StepScene& scene, StepState& state, int by);
void choose_scene(StepState& state, int by);
void go_to_hazard(const StepScene& scene, StepState& state, int by);

// At the beginning of a scene; keeps what was chosen in `state` and is not of one scene.
StepState first_state(const StepScene& scene, StepState state);

}  // namespace step
