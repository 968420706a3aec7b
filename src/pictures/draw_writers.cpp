#include <algorithm>
#include <map>

#include "pictures/cells.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

Drawing draw_writers(const BlockRequests& block) {
  constexpr int kMostRows = 96, kMostCols = 188;
  constexpr Fill kWarpFills[] = {Fill::warp, Fill::other, Fill::waiting, Fill::one};
  const Written written = written_by(block);
  const int rows = std::min(written.rows, kMostRows), cols = std::min(written.cols, kMostCols);
  Owners owner(rows, std::vector<int>(cols));
  std::map<int, Cells> of_warp;
  Cells twice, never;
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const int thread = written.thread[row][col];
      owner[row][col] = thread;
      if (thread >= 0) of_warp[block.warp.warp_of(thread)].insert({row, col});
      if (thread == Written::kNobody) never.insert({row, col});
      if (thread == Written::kSeveral) twice.insert({row, col});
    }
  }
  const std::string finding =
      written.rows == 0
          ? "The first block stores nothing to C."
          : text::printed(
                "The first block stores to %d × %d elements of C, from row %d, column %d on. %zu "
                "of "
                "them are written by several threads, %zu by none.",
                written.rows, written.cols, written.row, written.col, twice.size(), never.size());
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "warp 0, 4, 8 …");
  x = svg.legend(x, 66, Fill::other, "warp 1, 5, 9 …");
  x = svg.legend(x, 66, Fill::waiting, "warp 2, 6, 10 …");
  x = svg.legend(x, 66, Fill::one, "warp 3, 7, 11 …");
  svg.legend(x, 66, Fill::trouble, "several threads");
  const double cell = cols == 0 ? 0 : std::min(26.0, 752.0 / cols), y = 92;
  for (const auto& [warp, cells] : of_warp) {
    for (const Rectangle& r : rectangles(cells)) {
      svg.rect(
          24 + r.col * cell, y + r.row * cell, r.cols * cell, r.rows * cell, kWarpFills[warp % 4]);
    }
  }
  for (const Rectangle& r : rectangles(twice)) {
    svg.rect(24 + r.col * cell, y + r.row * cell, r.cols * cell, r.rows * cell, Fill::trouble);
  }
  svg.path(borders(owner, 24, y, cell), "thin");
  for (int row = 0; row < rows && cell >= 23; ++row) {
    for (int col = 0; col < cols; ++col) {
      if (owner[row][col] < 0) continue;
      svg.text(
          24 + (col + 0.5) * cell, y + row * cell + 16, text::printed("%d", owner[row][col]),
          {.anchor = Anchor::middle, .small = true, .on_fill = true});
    }
  }
  const bool cut = rows < written.rows || cols < written.cols;
  const double below = svg.paragraph(
      24, y + rows * cell + 26,
      finding + (cell >= 23 ? " Numbers are threads." : " Lines separate the threads.") +
          (cut ? text::printed(" Only %d × %d are drawn.", rows, cols) : ""),
      752);
  return {finding, svg.elements(), below + 4};
}

}  // namespace pictures
