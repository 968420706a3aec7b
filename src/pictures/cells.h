// The elements of a matrix, drawn as areas: each a cell of a grid.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pictures {

using Cells = std::set<std::pair<int, int>>;  // (row, column)

struct Rectangle {
  int row, col, rows, cols;
};

// The cells as few rectangles: runs along the rows, those below each other joined.
std::vector<Rectangle> rectangles(const Cells& cells);

using Owners = std::vector<std::vector<int>>;  // [row][col]: thread; negative: not one

// An SVG path of the lines between neighbours that belong to different threads. (x, y) is the
// grid's corner, a cell is `scale` wide.
std::string borders(const Owners& owner, double x, double y, double scale);

}  // namespace pictures
