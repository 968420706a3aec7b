#include "step/parts.h"

#include <cstdint>
#include <string>

#include "text/numbers.h"

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;

}  // namespace

std::vector<Line> counts_so_far(const StepScene& scene, std::size_t at) {
  struct Sum {
    std::int64_t requests = 0, pieces = 0;
    std::string text(const char* unit) const {
      if (requests == 0) return "0";
      return text::grouped(requests) + " req x " +
             text::printed("%.2f ", static_cast<double>(pieces) / static_cast<double>(requests)) +
             unit;
    }
  } sums[2][2];
  std::int64_t conflicts = 0, barriers = 0;
  for (std::size_t i = steps_of_block(scene.recording, at).begin; i <= at; ++i) {
    const model::RecordedEvent& event = scene.recording.events[i];
    barriers += event.kind == Kind::barrier;
    if (event.kind != Kind::request) continue;
    const bool shared = array_of(scene, event)->shared;
    const model::Direction direction = site_of(scene, event)->direction;
    const bool stores =
        direction == model::Direction::copy ? shared : direction == model::Direction::store;
    Sum& sum = sums[shared][stores];
    sum.requests += 1;
    sum.pieces += event.pieces;
    conflicts += event.bank_conflicts;
  }
  return {
      {{"GMEM loads " + text::pad_right(sums[0][0].text("sectors"), 30) + " stores " +
        sums[0][1].text("sectors")}},
      {{"SMEM loads " + text::pad_right(sums[1][0].text("wavefronts"), 30) + " stores " +
        sums[1][1].text("wavefronts")}},
      {{"bank conflicts " + text::grouped(conflicts) + ", barriers " + text::grouped(barriers)}}};
}

}  // namespace step
