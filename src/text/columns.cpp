#include "text/columns.h"

#include <algorithm>
#include <cstdlib>

#include "text/numbers.h"

namespace text {

std::vector<int> widths_of(const std::vector<Cells>& lines, std::size_t left) {
  std::vector<int> widths(lines.front().size());
  for (const Cells& cells : lines) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const int width = std::max(std::abs(widths[c]), display_width(cells[c]));
      widths[c] = c < left ? -width : width;
    }
  }
  return widths;
}

std::string in_columns(const Cells& cells, const std::vector<int>& widths, int gap) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    line += repeated(" ", c == 0 ? 0 : gap) +
            (widths[c] < 0 ? pad_right(cells[c], -widths[c]) : pad_left(cells[c], widths[c]));
  }
  return without_trailing_spaces(line) + "\n";
}

}  // namespace text
