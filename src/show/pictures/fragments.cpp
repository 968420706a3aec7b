// The fragments of an mma: which lane holds which element, and why the neighbouring columns that a
// lane loads go to different multiplications.
#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <stdexcept>

#include "model/tensor_core.h"
#include "show/pictures/pictures.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr int kShownWarp = 0;
constexpr int kShownLane = 6;  // that is shown; its row of A and its k differ
constexpr int kAtOnce = 4;     // floats of a load, each for an mma of its own
constexpr model::MmaFragments kMma = model::fragments_of_mma(16, 8, 32);
constexpr int kMmaColumns = 8;
constexpr int kColumns = kAtOnce * kMmaColumns;  // of B and C, for these mma

// An element of a matrix that lanes hold together: as a lane's register.
struct Held {
  int lane, number;
};
using HeldMatrix = std::vector<std::vector<Held>>;  // [row][col]

HeldMatrix held(const model::FragmentLayout& layout, bool by_columns) {
  const int rows = by_columns ? layout.minors : layout.majors;
  const int cols = by_columns ? layout.majors : layout.minors;
  HeldMatrix matrix(rows, std::vector<Held>(cols));
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    for (int i = 0; i < layout.elements(); ++i) {
      const auto [major, minor] = layout.position(lane, i);
      matrix[by_columns ? minor : major][by_columns ? major : minor] = {lane, i};
    }
  }
  return matrix;
}

// A lane's load of B or store to C: of neighbours in a row, counted from the warp's tile.
struct LaneElement {
  int lane, row, col;
};

// What a warp loads of B in its first step along K, and what it stores to C, as traced.
struct Accesses {
  std::vector<LaneElement> loads, stores;
};

void require(bool is_so, const char* what) {
  if (!is_so) throw std::logic_error(std::string("no picture of fragments: ") + what);
}

// Those in the first columns of the tile, with rows of C from its first row on.
std::vector<LaneElement> in_first_columns(std::vector<LaneElement> all, bool of_C) {
  int row = INT_MAX, col = INT_MAX;
  for (const LaneElement& one : all) {
    row = std::min(row, one.row);
    col = std::min(col, one.col);
  }
  for (LaneElement& one : all) {
    if (of_C) one.row -= row;
    one.col -= col;
  }
  std::erase_if(all, [](const LaneElement& one) { return one.col >= kColumns; });
  return all;
}

Accesses accesses_of(const BlockRequests& block) {
  Accesses all;
  for (const Moved& moved : elements_moved(block)) {
    if (block.warp.warp_of(moved.thread) != kShownWarp) continue;
    const RecordedRequest& request = block.requests[moved.request];
    const MatrixElement& first = moved.elements[0];
    const LaneElement access{block.warp.lane_of(moved.thread), first.row, first.col};
    const bool is_load = request.shared && request.direction == model::Direction::load;
    const bool is_store = !request.shared && request.direction == model::Direction::store;
    if (is_load && first.matrix == 'B' && first.row < kMma.b.minors) {
      require(moved.elements.size() == kAtOnce, "a lane loads other than four columns at a time");
      all.loads.push_back(access);
    } else if (is_store && first.matrix == 'C') {
      all.stores.push_back(access);
    }
  }
  return {in_first_columns(all.loads, false), in_first_columns(all.stores, true)};
}

// Which of the first columns of the warp's tiles of B and C belong to which mma.
struct Columns {
  std::array<int, kMmaColumns> loaded;  // for column j of each mma, the first of the neighbours
  std::vector<int> rows;                // of B, from which the shown lane loads
  std::map<int, int> stored;  // by register, in the lane's first row: the first of the neighbours

  // Column j of mma x is this one.
  int of(int x, int j) const { return loaded[j] + x; }
};

// Throws std::logic_error if the lanes do not load what mma takes, or store other sums.
Columns columns_of(const BlockRequests& block) {
  const Accesses accesses = accesses_of(block);
  Columns columns{};
  columns.loaded.fill(-1);
  std::map<int, int> times;  // that a lane has loaded
  for (const auto& [lane, row, col] : accesses.loads) {
    const auto [j, k] = kMma.b.position(lane, times[lane]++);
    require(row == k, "a lane loads another k than its mma takes");
    require(columns.loaded[j] < 0 || columns.loaded[j] == col, "lanes disagree about a column");
    columns.loaded[j] = col;
    if (lane == kShownLane) columns.rows.push_back(k);
  }
  for (const int col : columns.loaded) require(col >= 0, "no lane loads a column");

  int first_row = INT_MAX;
  for (const LaneElement& store : accesses.stores) {
    if (store.lane == kShownLane) first_row = std::min(first_row, store.row);
  }
  for (const auto& [lane, row, col] : accesses.stores) {
    if (lane != kShownLane || row != first_row) continue;
    int number = 0;  // of those in the first row of each mma
    while (number < kMma.d.per && columns.of(0, kMma.d.position(kShownLane, number).minor) != col)
      ++number;
    require(number < kMma.d.per, "a lane stores other sums than its own");
    require(columns.stored.try_emplace(number, col).second, "a lane stores a sum twice");
  }
  require(static_cast<int>(columns.stored.size()) == kMma.d.per, "a lane does not store its sums");
  return columns;
}

// Cells on the picture.
struct Lattice {
  double x, y, wide, high;  // of the first cell
  int cols, rows;

  double left(double col) const { return x + col * wide; }
  double top(double row) const { return y + row * high; }
};

void draw_paper(Svg& svg, const Lattice& at) {
  svg.rect(at.x, at.y, at.cols * at.wide, at.rows * at.high, Fill::paper);
}

void draw_cells(Svg& svg, const Lattice& at, const Cells& cells, Fill fill) {
  for (const Rectangle& r : rectangles(cells)) {
    svg.rect(at.left(r.col), at.top(r.row), r.cols * at.wide, r.rows * at.high, fill);
  }
}

void draw_grid(Svg& svg, const Lattice& at) {
  svg.grid(at.x, at.y, at.cols * at.wide, at.rows * at.high, at.cols, at.rows);
}

Cells of_shown_lane(const HeldMatrix& matrix) {
  Cells cells;
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    for (std::size_t col = 0; col < matrix[row].size(); ++col) {
      if (matrix[row][col].lane == kShownLane)
        cells.insert({static_cast<int>(row), static_cast<int>(col)});
    }
  }
  return cells;
}

// Names of registers along an edge, each once for neighbours with the same: "a0", "a2".
struct RegisterRun {
  double middle;  // in cells
  int number;
};
template <class Number>
std::vector<RegisterRun> runs_of(int cells, Number number) {
  std::vector<RegisterRun> runs;
  for (int from = 0, to = 0; from < cells; from = to) {
    while (to < cells && number(to) == number(from)) ++to;
    runs.push_back({(from + to) / 2.0, number(from)});
  }
  return runs;
}

void name_columns(
    Svg& svg, const Lattice& at, double y, const std::vector<Held>& row, char matrix) {
  for (const RegisterRun& run : runs_of(at.cols, [&](int col) { return row[col].number; })) {
    svg.centred_faint(at.left(run.middle), y, text::printed("%c%d", matrix, run.number));
  }
}

// A matrix with the lanes in its cells, and lines between its blocks.
void draw_lanes(Svg& svg, const Lattice& at, const HeldMatrix& matrix, int per) {
  draw_paper(svg, at);
  draw_cells(svg, at, of_shown_lane(matrix), Fill::one);
  draw_grid(svg, at);
  Owners blocks;
  for (const std::vector<Held>& row : matrix) {
    blocks.emplace_back();
    for (const Held& one : row) blocks.back().push_back(one.number / per);
  }
  svg.path(borders(blocks, at.x, at.y, at.wide), "thick");
  for (int row = 0; row < at.rows; ++row) {
    for (int col = 0; col < at.cols; ++col) {
      const bool shown = matrix[row][col].lane == kShownLane;
      svg.text(
          at.left(col + 0.5), at.top(row + 0.5) + 4.5, text::printed("%d", matrix[row][col].lane),
          {.anchor = Anchor::middle, .bold = shown, .small = true, .on_fill = shown});
    }
  }
}

constexpr double kMmaTop = 126, kCell = 18;

// One mma, as a product is written: A to the left of the sums, B above them. Returns the lowest y.
double draw_mma(Svg& svg) {
  const HeldMatrix A = held(kMma.a, false), B = held(kMma.b, true), D = held(kMma.d, false);
  const double depth = kMma.a.minors * kCell, x = 24 + depth + 22, y = kMmaTop + depth + 40;
  const Lattice of_A{24, y, kCell, kCell, kMma.a.minors, kMma.a.majors};
  const Lattice of_B{x, kMmaTop, kCell, kCell, kMma.b.majors, kMma.b.minors};
  const Lattice of_D{x, y, kCell, kCell, kMma.d.minors, kMma.d.majors};
  const double below = of_A.top(of_A.rows);
  svg.bold(24, 96, "One mma: the numbers are lanes");

  draw_lanes(svg, of_A, A, kMma.a.per);
  draw_lanes(svg, of_B, B, kMma.b.per);
  draw_lanes(svg, of_D, D, kMma.d.per);
  name_columns(svg, of_A, y - 6, A.front(), 'a');
  name_columns(svg, of_A, below + 14, A.back(), 'a');
  name_columns(svg, of_D, y - 6, D.front(), 'd');
  name_columns(svg, of_D, below + 14, D.back(), 'd');
  for (const RegisterRun& run : runs_of(of_B.rows, [&](int row) { return B[row].back().number; })) {
    svg.faint(
        of_B.left(of_B.cols) + 6, of_B.top(run.middle) + 4.5, text::printed("b%d", run.number));
  }
  const auto name = [&](const Lattice& at, double up, const char* words) {
    svg.small(at.x, at.y - up, text::printed("%s, %d × %d", words, at.rows, at.cols));
  };
  name(of_A, 24, "A");
  name(of_B, 6, "B");
  name(of_D, 24, "sums");

  const double corner = kMmaTop + 18;
  svg.bold(24, corner, text::printed("%d / 4 = %d", kShownLane, kShownLane / 4));
  svg.small(24, corner + 18, "row of A and of the");
  svg.small(24, corner + 34, "sums; column of B");
  svg.bold(24, corner + 62, text::printed("%d %% 4 = %d", kShownLane, kShownLane % 4));
  svg.small(24, corner + 80, "k in A and B;");
  svg.small(24, corner + 96, "pair in a row of sums");
  return below + 20;
}

constexpr double kColumnsLeft = 412, kColumnsWide = 364;  // of the columns

void number_columns(Svg& svg, const Lattice& at, double y) {
  for (int col = 0; col < at.cols; col += kAtOnce) {
    svg.centred_faint(at.left(col + 0.5), y, text::printed("%d", col));
  }
}

// Cells of which some belong to the first mma, and some to the shown lane.
void draw_marked(Svg& svg, const Lattice& at, const Cells& of_first, const Cells& of_lane) {
  draw_paper(svg, at);
  draw_cells(svg, at, of_first, Fill::warp);
  draw_cells(svg, at, of_lane, Fill::one);
  draw_grid(svg, at);
}

Cells all_cells(const Lattice& at) {
  Cells cells;
  for (int row = 0; row < at.rows; ++row) {
    for (int col = 0; col < at.cols; ++col) cells.insert({row, col});
  }
  return cells;
}

// From the columns in shared memory to four mma, and from there to C. Returns the lowest y.
double draw_columns(Svg& svg, const Columns& columns) {
  constexpr double kColumn = kColumnsWide / kColumns, kSmall = 10;
  constexpr double kApart = (kColumnsWide - kMmaColumns * kSmall) / (kAtOnce - 1);
  const Cells of_B = of_shown_lane(held(kMma.b, true));
  const Lattice tile{kColumnsLeft, 140, kColumn, 13, kColumns, kMma.b.minors};
  const double at_mma = tile.top(tile.rows) + 84, at_sums = at_mma + kMma.b.minors * kSmall + 8;
  const Lattice of_C{kColumnsLeft, at_sums + 14 + 96, kColumn, 16, kColumns, 1};

  svg.bold(kColumnsLeft, 96, "Four mma: each takes every fourth column");
  svg.small(
      kColumnsLeft, 116,
      text::printed(
          "%d columns of B in shared memory; two loads of lane %d", kColumns, kShownLane));
  number_columns(svg, tile, tile.y - 5);
  const int own = kMma.b.position(kShownLane, 0).major;  // the lane's column of each mma
  Cells first, loaded, first_of_C, stored, sums_of_lane;
  for (int j = 0; j < kMmaColumns; ++j) {
    for (int row = 0; row < tile.rows; ++row) first.insert({row, columns.of(0, j)});
    first_of_C.insert({0, columns.of(0, j)});
  }
  for (int x = 0; x < kAtOnce; ++x) {
    for (const int row : columns.rows) loaded.insert({row, columns.of(x, own)});
    for (const auto& [number, col] : columns.stored) stored.insert({0, col + x});
  }
  for (const auto& [number, col] : columns.stored) {
    sums_of_lane.insert({0, kMma.d.position(kShownLane, number).minor});
  }
  draw_marked(svg, tile, first, loaded);
  draw_marked(svg, of_C, first_of_C, stored);

  for (int x = 0; x < kAtOnce; ++x) {
    const double left = kColumnsLeft + x * kApart;
    const Lattice mma{left, at_mma, kSmall, kSmall, kMmaColumns, kMma.b.minors};
    const Lattice sums{left, at_sums, kSmall, 14, kMmaColumns, 1};
    draw_marked(svg, mma, x == 0 ? all_cells(mma) : Cells{}, of_B);
    draw_marked(svg, sums, x == 0 ? all_cells(sums) : Cells{}, sums_of_lane);
    svg.line(
        tile.left(columns.of(x, own) + 0.5), tile.top(tile.rows), mma.left(own + 0.5), mma.y,
        "thick");
    for (const auto& [number, col] : columns.stored) {
      const int j = kMma.d.position(kShownLane, number).minor;
      svg.line(
          sums.left(j + 0.5), sums.top(1), of_C.left(columns.of(x, j) + 0.5), of_C.y,
          number == 0 ? "thick" : "dashed");
    }
    svg.small(mma.left(own + 1.2), mma.y - 5, text::printed("mma %d", x));
  }
  for (const int row : columns.rows) {
    svg.rect(
        tile.left(columns.of(0, own)), tile.top(row), kAtOnce * kColumn, tile.high, Fill::outline);
  }
  const auto name = [&](double y, const std::string& words) {
    svg.right(kColumnsLeft - 8, y, words);
  };
  for (const int row : columns.rows) name(tile.top(row + 0.5) + 4.5, text::printed("k %d", row));
  name(at_mma + kMma.b.minors * kSmall / 2 + 4.5, "B");
  name(at_sums + 11.5, "sums");
  name(of_C.top(0.5) + 4.5, "C");
  number_columns(svg, of_C, of_C.top(1) + 14);
  for (const auto& [number, col] : columns.stored) {
    svg.rect(of_C.left(col), of_C.y, kAtOnce * kColumn, of_C.high, Fill::outline);
    svg.text(
        of_C.left(col + kAtOnce / 2.0), of_C.top(1) + 32, text::printed("d%d", number),
        {.anchor = Anchor::middle, .bold = true, .small = true});
  }
  svg.small(kColumnsLeft, of_C.top(1) + 32, "two stores to a row of C:");
  return of_C.top(1) + 38;
}

}  // namespace

Drawing draw_fragments(const TracedStage& stage) {
  const Columns columns = columns_of(stage.block);
  const std::string finding =
      text::printed(
          "The lanes of a warp hold the matrices of an mma together: lane %d has %d of the %d × %d "
          "elements of A, %d of the %d × %d of B, and %d of the sums. ",
          kShownLane, kMma.a.elements(), kMma.a.majors, kMma.a.minors, kMma.b.elements(),
          kMma.b.minors, kMma.b.majors, kMma.d.elements()) +
      "It loads four neighbouring columns of B as one float4, and each of them goes to another "
      "mma, "
      "so d0 of the four mma are four neighbours in a row of C again.";
  Svg svg;
  double x = svg.legend(24, 66, Fill::one, text::printed("lane %d's elements", kShownLane));
  svg.legend(x, 66, Fill::warp, "mma 0: the columns that it takes, and their sums");
  double y = std::max(draw_mma(svg), draw_columns(svg, columns));
  return svg.with(finding, y + 26);
}

}  // namespace pictures
