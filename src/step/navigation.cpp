#include "step/navigation.h"

#include <algorithm>
#include <optional>
#include <string>

#include "text/numbers.h"

namespace step {

namespace {

// The nearest step of the block after the present one (or before it, with `by` -1) that
// `is_wanted`.
std::optional<std::size_t> find_step(
    const StepScene& scene, const StepState& state, int by, const IsWanted& is_wanted) {
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  for (std::size_t at = state.at + by; at >= block.begin && at < block.end; at += by) {
    if (is_wanted(scene.recording.events[at])) return at;
    if (at == 0) break;
  }
  return std::nullopt;
}

}  // namespace

void go_to(const StepScene& scene, StepState& state, std::size_t at) {
  state.at = at;
  if (const int warp = scene.recording.events[at].warp; warp >= 0) state.warp = warp;
  state.row.reset();
  state.column.reset();
}

void go_along(
    const StepScene& scene, StepState& state, int by, const IsWanted& is_wanted, const char* none) {
  for (int i = 0; i < std::max(state.count, 1); ++i) {
    const auto found = find_step(scene, state, by, is_wanted);
    if (!found) {
      state.message = none;
      return;
    }
    go_to(scene, state, *found);
  }
}

void choose_warp(const StepScene& scene, StepState& state, int by) {
  const model::Recording& recording = scene.recording;
  const int warps = warps_of(recording);
  const int by_how_many = by * std::max(state.count, 1) % warps;
  const int warp = (state.warp + by_how_many + warps) % warps;
  const int epoch = recording.events[state.at].epoch;
  const BlockSteps block = steps_of_block(recording, state.at);
  std::optional<std::size_t> last;
  for (std::size_t at = block.begin; at < block.end; ++at) {
    if (recording.events[at].warp != warp) continue;
    last = at;
    if (recording.events[at].epoch >= epoch) break;
  }
  state.warp = warp;
  if (last) {
    go_to(scene, state, *last);
  } else {
    state.message = text::printed("warp %d has no recorded steps", warp);
  }
}

void choose_block(const StepScene& scene, StepState& state, int by) {
  const std::vector<model::RecordedEvent>& events = scene.recording.events;
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  const std::size_t from_begin = state.at - block.begin;
  if (by > 0 ? block.end == events.size() : block.begin == 0) {
    state.message = by > 0 ? "this is the last recorded block" : "this is the first recorded block";
    return;
  }
  const BlockSteps other = steps_of_block(scene.recording, by > 0 ? block.end : block.begin - 1);
  go_to(scene, state, std::min(other.begin + from_begin, other.end - 1));
}

void choose_scene(StepState& state, int by) {
  const int wanted = state.scene + by * std::max(state.count, 1);
  const int scene = std::clamp(wanted, 0, state.scenes - 1);
  if (scene == state.scene) {
    state.message =
        by > 0 ? "there is no stage after this one" : "there is no stage before this one";
  }
  state.scene = scene;
}

void choose_lane(const StepScene& scene, StepState& state, int by) {
  const int all = scene.recording.warp.lanes;
  const int lanes = by * std::max(state.count, 1) % all;
  state.lane = (state.lane + lanes + all) % all;
}

void go_to_hazard(const StepScene& scene, StepState& state, int by) {
  const std::vector<model::RecordedHazard>& hazards = scene.recording.hazards;
  std::optional<std::size_t> nearest;
  for (const model::RecordedHazard& hazard : hazards) {
    const std::size_t at = shown_at(hazard);
    const bool ahead = by > 0 ? at > state.at : at < state.at;
    if (ahead && (!nearest || (by > 0 ? at < *nearest : at > *nearest))) nearest = at;
  }
  if (nearest) return go_to(scene, state, *nearest);
  state.message = hazards.empty() ? "no hazard was found in these blocks"
                                  : "there is no further hazard in this direction";
}

StepState first_state(const StepScene& scene, StepState state) {
  state.array.reset();
  go_to(scene, state, 0);
  state.warp = std::min(state.warp, warps_of(scene.recording) - 1);
  return state;
}

}  // namespace step
