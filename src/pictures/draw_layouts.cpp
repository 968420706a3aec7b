#include <algorithm>

#include "model/warp_access.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr int kSide = 32;  // rows and columns of the tile, of floats
constexpr int kColumn = 3, kRow = 20;

// Where element (row, col) of the tile lies in shared memory, in words.
struct Layout {
  const char* name;
  const char* index;  // as a kernel writes it
  int (*word)(int row, int col);
  int words;
};

const Layout kLayouts[] = {
    {"as it is", "float tile[32][32], at [r][c]",
     [](int row, int col) { return row * kSide + col; }, kSide* kSide},
    {"padded", "float tile[32][33], at [r][c]",
     [](int row, int col) { return row * (kSide + 1) + col; }, kSide*(kSide + 1)},
    {"swizzled", "float tile[32][32], at [r][c ^ r]",
     [](int row, int col) { return row * kSide + (col ^ row); }, kSide* kSide},
};

// One warp's load of a column or a row of the tile.
model::WarpAccess load(const Layout& layout, bool of_column) {
  model::WarpAccess access{~0u, 4, {}};
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    const int word = of_column ? layout.word(lane, kColumn) : layout.word(kRow, lane);
    access.address[lane] = 4 * static_cast<std::uint64_t>(word);
  }
  return access;
}

std::string wavefronts_text(const model::WarpAccess& access) {
  const int n = model::shared_load(access).wavefronts;
  return text::printed("%d wavefront%s", n, n == 1 ? "" : "s");
}

void draw(Svg& svg, double x, double y, const Layout& layout) {
  constexpr double kCell = 7.4;
  svg.text(x, y, layout.name, {.bold = true});
  svg.text(x, y + 19, layout.index, {.small = true});
  y += 48;
  for (const int bank : {0, 8, 16, 24, 31}) {
    svg.text(
        x + (bank + 0.5) * kCell, y - 5, text::printed("%d", bank),
        {.anchor = Anchor::middle, .small = true, .faint = true});
  }
  const int rows = (layout.words + kSide - 1) / kSide;
  svg.rect(x, y, kSide * kCell, rows * kCell, Fill::quiet);
  svg.grid(x, y, kSide * kCell, rows * kCell, kSide, rows);
  const model::WarpAccess row = load(layout, false), column = load(layout, true);
  const auto mark = [&](const model::WarpAccess& access, Fill fill) {
    for (int lane = 0; lane < model::kWarpSize; ++lane) {
      const int word = static_cast<int>(access.address[lane] / 4);
      svg.rect(x + word % kSide * kCell, y + word / kSide * kCell, kCell, kCell, fill);
    }
  };
  mark(row, Fill::warp);
  mark(column, Fill::one);
  y += rows * kCell + 22;
  svg.text(x, y, "a row: " + wavefronts_text(row), {.small = true});
  svg.text(x, y + 17, "a column: " + wavefronts_text(column), {.bold = true});
  svg.text(x, y + 36, text::grouped(4 * layout.words) + " bytes", {.small = true});
}

}  // namespace

Picture draw_layouts() {
  std::string finding =
      "A warp reads a row or a column of a 32 × 32 tile of floats in shared memory.";
  for (const Layout& layout : kLayouts) {
    finding += std::string(" The tile ") + layout.name + ": a row in " +
               wavefronts_text(load(layout, false)) + ", a column in " +
               wavefronts_text(load(layout, true)) + ", " + text::grouped(4 * layout.words) +
               " bytes.";
  }
  Svg svg;
  double x = svg.legend(24, 66, Fill::one, text::printed("column %d, one word per lane", kColumn));
  svg.legend(x, 66, Fill::warp, text::printed("row %d, one word per lane", kRow));
  for (int i = 0; i < 3; ++i) draw(svg, 24 + i * 256.0, 102, kLayouts[i]);
  svg.text(
      24, 486,
      "Across: the 32 banks. Down: the words of shared memory, 32 per line. A column of this "
      "picture is one bank.",
      {.small = true, .faint = true});
  return {
      "padding-and-swizzle",
      "Padding and swizzle: a column of a tile, over the banks",
      {finding, svg.elements(), 506}};
}

}  // namespace pictures
