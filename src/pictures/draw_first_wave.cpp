#include <set>

#include "pictures/cells.h"
#include "pictures/first_wave.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kSide = 320, kStrip = 16, kGap = 6;  // px: of C, of A's and B's strips

// The matrices of one panel: C with the tiles of the wave, what is read of A at its left and of B
// above.
void draw_wave(
    Svg& svg, double x, double y, const FirstWave& wave, const model::Variant& variant, int M,
    int N) {
  const double left = x + kStrip + kGap, top = y + kStrip + kGap;
  const double high = kSide * variant.BM / M, wide = kSide * variant.BN / N;
  svg.rect(x, top, kStrip, kSide, Fill::paper);
  svg.rect(left, y, kSide, kStrip, Fill::paper);
  svg.rect(left, top, kSide, kSide, Fill::paper);
  Cells of_A, of_B;
  for (const int row : wave.rows_of_A) of_A.insert({row, 0});
  for (const int col : wave.columns_of_B) of_B.insert({0, col});
  for (const Rectangle& r : rectangles(of_A)) {
    svg.rect(x, top + kSide * r.row / M, kStrip, kSide * r.rows / M, Fill::warp);
  }
  for (const Rectangle& r : rectangles(of_B)) {
    svg.rect(left + kSide * r.col / N, y, kSide * r.cols / N, kStrip, Fill::other);
  }
  const Cells tiles(wave.tiles.begin(), wave.tiles.end());
  for (const Rectangle& r : rectangles(tiles)) {
    svg.rect(left + r.col * wide, top + r.row * high, r.cols * wide, r.rows * high, Fill::one);
  }
  std::string order;
  for (const auto& [row, col] : wave.tiles) {
    order += (order.empty() ? "M" : "L") + pixels(left + (col + 0.5) * wide) + " " +
             pixels(top + (row + 0.5) * high);
  }
  svg.path(order, "thin");
  svg.rect(left, top, kSide, kSide, Fill::outline);
}

std::string counts_of(const FirstWave& wave) {
  return text::grouped(static_cast<long long>(wave.rows_of_A.size())) + " rows of A and " +
         text::grouped(static_cast<long long>(wave.columns_of_B.size())) + " columns of B";
}

// "8 rows and 17 columns of tiles"
std::string extent_of(const FirstWave& wave) {
  std::set<int> rows, cols;
  for (const auto& [row, col] : wave.tiles) {
    rows.insert(row);
    cols.insert(col);
  }
  return text::printed("%zu rows and %zu columns of tiles", rows.size(), cols.size());
}

}  // namespace

Drawing draw_first_wave(const WaveOfStage& before, const WaveOfStage& after, int M, int N) {
  const int old_lines = lines_read(before.wave), lines = lines_read(after.wave);
  const auto says = [](const WaveOfStage& one) {
    return text::printed("In stage %d their tiles of C lie in ", one.stage->number) +
           extent_of(one.wave) + ", and the blocks read " + counts_of(one.wave) + ". ";
  };
  const std::string finding = text::printed(
                                  "The first %zu blocks of a launch run together, one on each SM. ",
                                  before.wave.tiles.size()) +
                              says(before) + says(after) + "In 32 steps of k this is " +
                              text::grouped(lines) + " different lines of 128 bytes instead of " +
                              text::grouped(old_lines) +
                              text::printed(": %.0f %%.", 100.0 * lines / old_lines);
  Svg svg;
  double x = svg.legend(24, 66, Fill::one, "tiles of C that these blocks compute");
  x = svg.legend(x, 66, Fill::warp, "rows of A");
  svg.legend(x, 66, Fill::other, "columns of B");
  svg.text(
      24, 90,
      text::printed(
          "C is %d × %d, a tile %d × %d. At the left of C lies A, above it B. The line is the "
          "order of the blocks.",
          M, N, after.variant->BM, after.variant->BN),
      {.small = true, .faint = true});
  constexpr double kSecond = 24 + kSide + kStrip + kGap + 40;
  double at = 24;
  for (const WaveOfStage* one : {&before, &after}) {
    svg.text(
        at, 122, text::printed("Stage %d, %s", one->stage->number, one->stage->name),
        {.bold = true});
    draw_wave(svg, at, 136, one->wave, *one->variant, M, N);
    const double below = 136 + kStrip + kGap + kSide + 20;
    svg.text(at, below, counts_of(one->wave) + ",", {.small = true});
    svg.text(
        at, below + 18, "in 32 steps of k " + text::grouped(lines_read(one->wave)) + " lines",
        {.small = true});
    at = kSecond;
  }
  const double y = svg.paragraph(24, 136 + kStrip + kGap + kSide + 74, finding, 752);
  return {finding, svg.elements(), y + 4};
}

}  // namespace pictures
