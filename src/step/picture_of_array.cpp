#include "step/parts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "step/access.h"
#include "step/window.h"
#include "step/words.h"
#include "text/numbers.h"

namespace step {

namespace {

std::string legend(const StepScene& scene) {
  const bool copies = std::any_of(
      scene.recording.sites.begin(), scene.recording.sites.end(),
      [](const model::RecordedSite& site) { return site.direction == model::Direction::copy; });
  return std::string("  . empty") + (copies ? " ~ coming" : "") +
         " o filled # this access ! conflict, race";
}

}  // namespace

std::vector<Line> picture_of_array(
    const StepScene& scene, const StepState& state, int rows, int columns) {
  const StepWindow window = window_of(scene, state);
  if (window.array < 0 || rows < 2) return {};
  const model::RecordedArray& array = scene.recording.arrays[window.array];
  constexpr int kLabel = 8;
  const int height = std::min(rows - 1, window.rows);
  const int width = std::clamp(columns - kLabel, 1, window.columns);
  // The row that the user scrolled to comes first; an access has a row above it if there is room.
  const int above = state.row || height < 3 ? 0 : 1;
  const int first_row = std::clamp(window.row - above, 0, window.rows - height);
  const int first_column = std::clamp(
      state.column ? window.column : window.column / 8 * 8 - 8, 0, window.columns - width);
  std::string size = text::printed("%d x %d", window.rows, window.columns);
  if (first_column > 0 || width < window.columns) {
    size += text::printed(" from column %d", first_column);
  }
  std::vector<Line> lines{{bold(array.name), {" " + size}, {legend(scene)}}};
  const std::string signs = signs_of_words(scene, state.at, window.array);
  for (int row = first_row; row < first_row + height; ++row) {
    Line line{{text::printed("%6d  ", row)}};
    for (int column = first_column; column < first_column + width; ++column) {
      const std::size_t word = static_cast<std::size_t>(row) * window.columns + column;
      if (word >= signs.size()) break;
      const char sign = signs[word];
      std::optional<text::Colour> colour;
      if (sign == '#') colour = text::Colour::bold;
      if (sign == '!') colour = text::Colour::red;
      if (sign == 'o') colour = text::Colour::green;
      if (sign == '~') colour = text::Colour::yellow;
      if (line.size() > 1 && line.back().colour == colour) {
        line.back().text += sign;
      } else {
        line.push_back({std::string(1, sign), colour});
      }
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace step
