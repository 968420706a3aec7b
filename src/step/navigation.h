// Moves from one step to another: along the block, and to other warps, blocks, scenes and hazards.
#pragma once

#include <cstddef>
#include <functional>

#include "step/scene.h"
#include "step/state.h"

namespace step {

// In these functions the state's count says how many times to move, and its message says why it
// could not move that far. `by` is 1 for forward, -1 for back.

void go_to(const StepScene& scene, StepState& state, std::size_t at);

using IsWanted = std::function<bool(const model::RecordedEvent& event)>;
// Moves to the next such step of the block; sets the message to `none` if there is none.
void go_along(
    const StepScene& scene, StepState& state, int by, const IsWanted& is_wanted, const char* none);

// Moves to the first step of the chosen warp between the two barriers around the present step, or
// near it.
void choose_warp(const StepScene& scene, StepState& state, int by);
void choose_lane(const StepScene& scene, StepState& state, int by);
void choose_block(const StepScene& scene, StepState& state, int by);
void choose_scene(StepState& state, int by);
void go_to_hazard(const StepScene& scene, StepState& state, int by);

// The state at the start of a scene. Keeps the choices in `state` that do not depend on the scene.
StepState first_state(const StepScene& scene, StepState state);

}  // namespace step
