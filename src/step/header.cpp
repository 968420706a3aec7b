#include "step/parts.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "text/numbers.h"

namespace step {

std::vector<Line> header(const StepScene& scene, const StepState& state, StepStyle style) {
  const model::Recording& recording = scene.recording;
  const model::RecordedEvent& event = recording.events[state.at];
  const BlockSteps block = steps_of_block(recording, state.at);
  const std::string bar = style.ascii ? " | " : " │ ";
  const std::int64_t across = std::max<std::int64_t>(recording.grid.x, 1);
  const std::string where = text::printed(
                                "block (%lld, %lld)", static_cast<long long>(event.block % across),
                                static_cast<long long>(event.block / across)) +
                            bar + text::printed("warp %d of %d", state.warp, warps_of(recording)) +
                            bar + text::printed("lane %d", state.lane);
  return {
      {bold(scene.name), {bar + where}},
      {{text::printed("step %zu of %zu", state.at - block.begin, block.end - 1 - block.begin) +
        bar + text::printed("%d barrier%s passed", event.epoch, event.epoch == 1 ? "" : "s") + bar +
        scene.problem + (state.one_warp ? bar + "one warp only" : "")}}};
}

Line footer(const StepState& state) {
  if (state.typing) return {{"/" + state.search + "_"}};
  if (state.count > 0) return {{text::printed("%d", state.count)}};
  if (!state.message.empty()) return {bold(state.message)};
  return {{"n next p back b barrier w warp l lane o block s stage / search ? help q quit"}};
}

}  // namespace step
