#include "step/parts.h"

#include <algorithm>
#include <string>

#include "text/numbers.h"

namespace step {

std::vector<Line> hazards_now(const StepScene& scene, const StepState& state, int columns) {
  const std::vector<model::RecordedHazard>& hazards = scene.recording.hazards;
  std::vector<Line> lines;
  const auto say = [&](const std::string& sentence) {
    for (const std::string& line : text::wrapped(sentence, std::max(columns, 20))) {
      lines.push_back({{line, text::Colour::red}});
    }
  };
  std::size_t so_far = 0;
  for (std::size_t i = 0; i < hazards.size(); ++i) {
    const model::RecordedHazard& hazard = hazards[i];
    so_far += hazard.found_at <= state.at;
    if (state.at == hazard.first || state.at == hazard.second || state.at == hazard.found_at) {
      say("! " + scene.sentences[i]);
      break;
    }
  }
  const bool is_last = state.at + 1 == scene.recording.events.size();
  if (is_last && !scene.fault.empty()) say("! " + scene.fault);
  if (is_last && !scene.recording.complete) {
    say("! The recording is full and ends here; a smaller --m, --n or --k shows the end.");
  }
  if (lines.empty() && !hazards.empty()) {
    lines.push_back(
        {{text::printed(
              "! %zu hazard%s found up to here, %zu in all: x goes to the next", so_far,
              so_far == 1 ? "" : "s", hazards.size()),
          text::Colour::red}});
  }
  return lines;
}

}  // namespace step
