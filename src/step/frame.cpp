#include "step/frame.h"

#include <algorithm>

#include "step/parts.h"
#include "step/window.h"
#include "text/numbers.h"

namespace step {

std::vector<std::string> render(
    const StepScene& scene, const StepState& state, int rows, int columns, StepStyle style) {
  rows = std::max(rows, 1);
  columns = std::max(columns, 1);
  std::vector<Line> lines;
  if (state.help) {
    lines = help_lines();
  } else {
    const model::RecordedEvent& event = scene.recording.events[state.at];
    const model::RecordedSite* site = site_of(scene, event);
    const std::vector<Line> counts = counts_so_far(scene, state.at);
    std::vector<Line> hazards = hazards_now(scene, state, columns);
    std::vector<Line> access = picture_of_access(scene, state);
    const StepWindow window = window_of(scene, state);

    // Header, deed, lane, counts, footer, and the lines for hazards; the pictures share the rest.
    const int taken = 2 + 1 + 1 + static_cast<int>(counts.size()) + 1;
    hazards.resize(std::min<std::size_t>(hazards.size(), std::max(0, (rows - taken) / 3)));
    const int left = std::max(0, rows - taken - static_cast<int>(hazards.size()));
    const int for_access = std::min(static_cast<int>(access.size()), std::max(left / 3, 2));
    int for_source = std::min(std::max(5, left / 4), left / 3);
    const int for_array = std::clamp(left - for_access - for_source, 0, window.rows + 1);
    const int spare = std::max(0, left - for_access - for_source - for_array);
    for_source += spare;

    lines = header(scene, state, style);
    append(lines, source_around(scene, site != nullptr ? site->line : 0, for_source));
    append(lines, {deed(scene, event), chosen_lane(scene, state)});
    if (static_cast<int>(access.size()) > for_access && for_access > 0) {
      const std::size_t more = access.size() - (for_access - 1);
      access.resize(for_access - 1);
      access.push_back({{text::printed("  ... and %zu more rows", more)}});
    }
    if (for_access > 0) append(lines, access);
    append(lines, picture_of_array(scene, state, for_array, columns));
    append(lines, hazards);
    append(lines, counts);
  }
  lines.resize(rows - 1);  // padded, or truncated if the window is very small
  lines.push_back(state.help ? Line{} : footer(state));

  std::vector<std::string> frame;
  for (const Line& line : lines) frame.push_back(shown(line, columns, style));
  return frame;
}

}  // namespace step
