#include "pictures/cells.h"

#include <algorithm>

#include "pictures/svg.h"

namespace pictures {

std::vector<Rectangle> rectangles(const Cells& cells) {
  std::vector<Rectangle> all;
  for (auto cell = cells.begin(); cell != cells.end();) {
    const auto [row, col] = *cell;
    int cols = 0;
    while (cell != cells.end() && *cell == std::pair(row, col + cols)) ++cell, ++cols;
    const auto above = std::find_if(all.begin(), all.end(), [&](const Rectangle& r) {
      return r.row + r.rows == row && r.col == col && r.cols == cols;
    });
    if (above != all.end()) {
      ++above->rows;
    } else {
      all.push_back({row, col, 1, cols});
    }
  }
  return all;
}

std::string borders(const Owners& owner, double x, double y, double scale) {
  const int rows = static_cast<int>(owner.size());
  const int cols = owner.empty() ? 0 : static_cast<int>(owner[0].size());
  std::string d;
  const auto differ = [&](int row, int col, int row2, int col2) {
    return owner[row][col] != owner[row2][col2];
  };
  for (int col = 1; col < cols; ++col) {
    for (int row = 0; row < rows;) {
      int last = row;
      while (last < rows && differ(last, col - 1, last, col)) ++last;
      if (last > row) {
        d += "M" + pixels(x + col * scale) + " " + pixels(y + row * scale) + "v" +
             pixels((last - row) * scale);
      }
      row = last + 1;
    }
  }
  for (int row = 1; row < rows; ++row) {
    for (int col = 0; col < cols;) {
      int last = col;
      while (last < cols && differ(row - 1, last, row, last)) ++last;
      if (last > col) {
        d += "M" + pixels(x + col * scale) + " " + pixels(y + row * scale) + "h" +
             pixels((last - col) * scale);
      }
      col = last + 1;
    }
  }
  return d;
}

}  // namespace pictures
