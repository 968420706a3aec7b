// Which block, lane and thread computes which part of C, and which lane holds what of an mma.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "model/tensor_core.h"
#include "show/pictures/pictures.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr int kWarp = 1, kThread = 9 + kWarp * model::kWarpSize;  // those that are shown
constexpr int kStepShown = 2;  // of k, from the first of the tile

// All indices below are relative to the block's first row and column, and its first k.
struct BlockTile {
  int BM, BN, depth;  // depth: of K, at a time; all of K if it has no tiles
  Owners owner;
  Cells warp_C, thread_C;
  Cells warp_A, warp_B;      // (row, k) and (k, column) that the warp multiplies, up to `depth`
  Cells thread_A, thread_B;  // that the thread does in one step of k
  int row0, col0;            // the block's first
};

bool loads(const BlockRequests& block, const Moved& moved, bool from_shared) {
  const model::RecordedEvent& request = block.events[moved.request];
  return block.site_of(request).direction == model::Direction::load &&
         block.array_of(request).shared == from_shared;
}

BlockTile tile_of(const TracedStage& stage) {
  const model::Variant& v = *stage.row.variant;
  const BlockRequests& block = stage.block;
  const Written written = written_by(block);
  BlockTile tile{};
  tile.BM = v.BM;
  tile.BN = v.BN;
  tile.depth = v.BK > 0 ? v.BK : block.K;
  tile.owner = written.thread;
  tile.owner.resize(v.BM);
  tile.row0 = written.row;
  tile.col0 = written.col;
  for (int row = 0; row < v.BM; ++row) {
    tile.owner[row].resize(v.BN, Written::kNobody);
    for (int col = 0; col < v.BN; ++col) {
      const int thread = tile.owner[row][col];
      if (block.warp.warp_of(thread) == kWarp) tile.warp_C.insert({row, col});
      if (thread == kThread) tile.thread_C.insert({row, col});
    }
  }
  for (const Moved& moved : elements_moved(block)) {
    // The operands come from shared memory, if the kernel uses it.
    if (!loads(block, moved, v.BK > 0) || block.warp.warp_of(moved.thread) != kWarp) continue;
    const bool is_thread = moved.thread == kThread;
    for (const MatrixElement& e : moved.elements) {
      if (e.matrix == 'A' && e.col < tile.depth) {
        tile.warp_A.insert({e.row - tile.row0, e.col});
        if (is_thread && e.col == kStepShown) tile.thread_A.insert({e.row - tile.row0, e.col});
      }
      if (e.matrix == 'B' && e.row < tile.depth) {
        tile.warp_B.insert({e.row, e.col - tile.col0});
        if (is_thread && e.row == kStepShown) tile.thread_B.insert({e.row, e.col - tile.col0});
      }
    }
  }
  return tile;
}

// Every mark is large enough to be seen.
void fill(
    Svg& svg, const Cells& cells, double x, double y, double x_scale, double y_scale, Fill with) {
  constexpr double kLeast = 4;
  for (const Rectangle& r : rectangles(cells)) {
    svg.rect(
        x + r.col * x_scale, y + r.row * y_scale, std::max(r.cols * x_scale, kLeast),
        std::max(r.rows * y_scale, kLeast), with);
  }
}

constexpr double kTilesTop = 92;

// The whole matrices, to scale; returns the lowest y.
double draw_matrices(Svg& svg, const TracedStage& stage, const BlockTile& tile) {
  const BlockRequests& s = stage.block;
  const double scale = 98.0 / std::max({s.M, s.N, s.K}), gap = 12;
  const double a_width = s.K * scale, b_height = s.K * scale;
  const double x = 24 + a_width + gap, y = kTilesTop + b_height + gap;
  const double width = s.N * scale, height = s.M * scale;
  svg.bold(24, 68, "Matrices");
  svg.rect(24, y, a_width, height, Fill::quiet);
  svg.rect(x, kTilesTop, width, b_height, Fill::quiet);
  svg.rect(x, y, width, height, Fill::quiet);
  svg.rect(24, y + tile.row0 * scale, a_width, tile.BM * scale, Fill::other);
  svg.rect(x + tile.col0 * scale, kTilesTop, tile.BN * scale, b_height, Fill::other);
  svg.grid(x, y, width, height, s.N / tile.BN, s.M / tile.BM);
  svg.rect(
      x + tile.col0 * scale, y + tile.row0 * scale, tile.BN * scale, tile.BM * scale, Fill::other);
  svg.small(24, y + height + 18, text::printed("A %d × %d", s.M, s.K));
  svg.right(x + width, kTilesTop - 8, text::printed("B %d × %d", s.K, s.N));
  const double lower = a_width < 40 ? 14 : 0;  // where both names do not fit into one line
  svg.right(x + width, y + height + 18 + lower, text::printed("C %d × %d", s.M, s.N));
  return y + height + 24 + lower;
}

// The block's tile of C with the parts of A and B that it is multiplied from.
double draw_block(Svg& svg, const BlockTile& tile, int K) {
  constexpr double kLeft = 246, kDepth = 44, kGap = 12, kMost = 256;
  const double scale = kMost / std::max(tile.BM, tile.BN);
  const double k_scale = kDepth / tile.depth;
  const double x = kLeft + kDepth + kGap, y = kTilesTop + kDepth + kGap;
  svg.bold(kLeft, 68, text::printed("Block: %d × %d of C", tile.BM, tile.BN));
  svg.rect(kLeft, y, kDepth, tile.BM * scale, Fill::quiet);
  svg.rect(x, kTilesTop, tile.BN * scale, kDepth, Fill::quiet);
  svg.rect(x, y, tile.BN * scale, tile.BM * scale, Fill::paper);
  fill(svg, tile.warp_A, kLeft, y, k_scale, scale, Fill::warp);
  fill(svg, tile.warp_B, x, kTilesTop, scale, k_scale, Fill::warp);
  fill(svg, tile.warp_C, x, y, scale, scale, Fill::warp);
  svg.path(borders(tile.owner, x, y, scale), "hair");
  fill(svg, tile.thread_A, kLeft, y, k_scale, scale, Fill::one);
  fill(svg, tile.thread_B, x, kTilesTop, scale, k_scale, Fill::one);
  fill(svg, tile.thread_C, x, y, scale, scale, Fill::one);
  svg.rect(x, y, tile.BN * scale, tile.BM * scale, Fill::outline);
  const double below = y + tile.BM * scale;
  const std::string depth =
      tile.depth < K ? text::printed("%d of K", tile.depth) : text::printed("K = %d", K);
  svg.small(kLeft, below + 18, depth);
  svg.right(x + tile.BN * scale, kTilesTop - 8, depth);
  return below + 24;
}

// The thread's results, element by element.
double draw_thread(Svg& svg, const Rectangle& results) {
  constexpr double kLeft = 592, kGap = 8, kWide = 132, kHigh = 224, kMost = 30;
  const auto [row, col, rows, cols] = results;
  const double cell = std::floor(std::min({kWide / (cols + 1), kHigh / (rows + 1), kMost}));
  const double x = kLeft + cell + kGap, y = kTilesTop + cell + kGap;
  svg.bold(kLeft, 68, text::printed("Thread: %d × %d", rows, cols));
  svg.rect(kLeft, y, cell, rows * cell, Fill::one);
  svg.grid(kLeft, y, cell, rows * cell, 1, rows);
  svg.rect(x, kTilesTop, cols * cell, cell, Fill::one);
  svg.grid(x, kTilesTop, cols * cell, cell, cols, 1);
  svg.rect(x, y, cols * cell, rows * cell, Fill::one);
  std::string lines;
  for (int c = 1; c < cols; ++c)
    lines += "M" + pixels(x + c * cell) + " " + pixels(y) + "v" + pixels(rows * cell);
  for (int r = 1; r < rows; ++r)
    lines += "M" + pixels(x) + " " + pixels(y + r * cell) + "h" + pixels(cols * cell);
  svg.path(lines, "thin");
  // Its rows and columns in the block's tile.
  const auto numbers = [](int first, int count) {
    return count == 1 ? text::printed("%d", first)
                      : text::printed("%d–%d", first, first + count - 1);
  };
  const double below = y + rows * cell + 18;
  svg.small(x + cols * cell + 6, y + rows / 2.0 * cell + 4, numbers(row, rows));
  svg.centred(x + cols / 2.0 * cell, below, numbers(col, cols));
  svg.faint(kLeft, below + 20, "rows and columns of the tile");
  return below + 26;
}

std::string finding_of(const TracedStage& stage, const BlockTile& tile) {
  const int results = static_cast<int>(tile.thread_C.size());
  const int of_A = static_cast<int>(tile.thread_A.size()),
            of_B = static_cast<int>(tile.thread_B.size());
  std::set<int> rows, cols;
  for (const auto& [row, col] : tile.warp_C) rows.insert(row), cols.insert(col);
  const bool tiles_of_K = stage.row.variant->BK > 0;
  return text::printed(
             "A block of %s threads computes %d × %d of C",
             text::grouped(stage.block.threads()).c_str(), tile.BM, tile.BN) +
         (tiles_of_K ? text::printed(", %d of K at a time", tile.depth) : "") +
         text::printed("; each warp computes %zu × %zu of it. ", rows.size(), cols.size()) +
         "For each step of k, a thread reads " + counted(of_A, "float") +
         text::printed(" of A and %d of B from ", of_B) + (tiles_of_K ? "shared" : "global") +
         " memory: " + counted(of_A + of_B, "float") + " for " + counted(results, "multiply-add") +
         ".";
}

}  // namespace

std::optional<Drawing> draw_tiles(const TracedStage& stage) {
  const BlockTile tile = tile_of(stage);
  const std::vector<Rectangle> results = rectangles(tile.thread_C);
  if (results.size() > 1) return std::nullopt;
  const std::string finding = finding_of(stage, tile);
  Svg svg;
  double y = std::max(
      {draw_matrices(svg, stage, tile), draw_block(svg, tile, stage.block.K),
       draw_thread(svg, results.at(0))});
  y += 22;
  double x = svg.legend(24, y, Fill::other, "the block, and what it reads");
  x = svg.legend(x, y, Fill::warp, text::printed("warp %d, and what it reads", kWarp));
  svg.legend(x, y, Fill::one, text::printed("thread %d, and its step k = %d", kThread, kStepShown));
  return svg.with(finding, y + 30);
}

namespace {

constexpr int kThreadLane = kThread % model::kWarpSize;

using Lanes = std::uint32_t;

// All indices are relative to the warp's first row and column.
struct WarpTile {
  std::vector<Cells> of_lane;  // of C
  std::map<int, Lanes> of_A;   // who asks for the float4 of A that begins at this row
  std::map<int, Lanes> of_B;   // who asks for the float4 of B that begins at this column
  int wide_A = 1, wide_B = 1;  // floats in one of them
};

WarpTile warp_tile_of(const TracedStage& stage) {
  const BlockRequests& block = stage.block;
  const BlockTile of_block = tile_of(stage);
  const auto [top, left, rows, cols] = rectangles(of_block.warp_C).at(0);
  WarpTile tile{std::vector<Cells>(model::kWarpSize), {}, {}};
  for (const auto& [row, col] : of_block.warp_C) {
    const int lane = block.warp.lane_of(of_block.owner[row][col]);
    tile.of_lane[lane].insert({row - top, col - left});
  }
  for (const Moved& moved : elements_moved(block)) {
    if (!loads(block, moved, true) || block.warp.warp_of(moved.thread) != kWarp) continue;
    const std::uint32_t lane = 1u << block.warp.lane_of(moved.thread);
    const MatrixElement& first = moved.elements[0];
    const int floats = static_cast<int>(moved.elements.size());
    if (first.matrix == 'A' && first.col == kStepShown) {
      tile.of_A[first.row - of_block.row0 - top] |= lane;
      tile.wide_A = floats;
    } else if (first.matrix == 'B' && first.row == kStepShown) {
      tile.of_B[first.col - of_block.col0 - left] |= lane;
      tile.wide_B = floats;
    }
  }
  return tile;
}

// The lanes that load an element that the shown lane loads, too.
Lanes together(const std::map<int, Lanes>& requests) {
  Lanes lanes = 0;
  for (const auto& [begin, those] : requests) {
    if (those >> kThreadLane & 1u) lanes |= those;
  }
  return lanes;
}

int loads(const std::map<int, Lanes>& requests) {
  return static_cast<int>(std::count_if(requests.begin(), requests.end(), [](const auto& one) {
    return one.second >> kThreadLane & 1u;
  }));
}

int most_lanes(const std::map<int, Lanes>& requests) {
  int most = 0;
  for (const auto& [begin, lanes] : requests) most = std::max(most, std::popcount(lanes));
  return most;
}

std::string finding_of(const TracedStage& stage, const WarpTile& tile) {
  const model::Variant& v = *stage.row.variant;
  const std::size_t pieces = rectangles(tile.of_lane[kThreadLane]).size();
  return text::printed(
      "A warp of stage %d computes %d × %d of C, and each lane %d × %d of these, in %zu pieces. "
      "For "
      "each step of k a lane loads %d float4s of A and %d of B. %d lanes ask for the same float4 "
      "of "
      "A and %d for the same one of B. The whole warp needs %zu different float4s of A and %zu of "
      "B.",
      stage.row.number, v.WM, v.WN, v.TM, v.TN, pieces, loads(tile.of_A), loads(tile.of_B),
      most_lanes(tile.of_A), most_lanes(tile.of_B), tile.of_A.size(), tile.of_B.size());
}

}  // namespace

Drawing draw_lanes(const TracedStage& stage) {
  const WarpTile tile = warp_tile_of(stage);
  const int rows = stage.row.variant->WM, cols = stage.row.variant->WN;
  constexpr double kLeft = 104, kTilesTop = 148, kBox = 62, kGap = 6;
  const double scale = std::min(672.0 / cols, 8.0);
  const Lanes with_A = together(tile.of_A), with_B = together(tile.of_B);
  Svg svg;
  double x =
      svg.legend(24, 66, Fill::one, text::printed("lane %d, and what it loads", kThreadLane));
  x = svg.legend(x, 66, Fill::warp, "asks for the same float4 of A");
  svg.legend(x, 66, Fill::other, "asks for the same float4 of B");
  svg.faint(
      24, 90,
      "Numbers in the tile are lanes. At the left and above: how many lanes ask for each float4 in "
      "one step of k.");

  const auto fill_of = [&](int lane) {
    return lane == kThreadLane   ? Fill::one
           : with_A >> lane & 1u ? Fill::warp
           : with_B >> lane & 1u ? Fill::other
                                 : Fill::paper;
  };
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    for (const Rectangle& r : rectangles(tile.of_lane[lane])) {
      const double wide = r.cols * scale, high = r.rows * scale;
      const double left = kLeft + r.col * scale, top = kTilesTop + r.row * scale;
      svg.rect(left, top, wide, high, fill_of(lane));
      svg.on_fill(
          left + wide / 2, top + high / 2 + 4.5, text::printed("%d", lane),
          fill_of(lane) != Fill::paper);
    }
  }
  const auto box = [&](double left, double top, double wide, double high, Lanes lanes,
                       const char* unit) {
    const bool shown = lanes >> kThreadLane & 1u;
    svg.rect(left, top, wide, high, shown ? Fill::one : Fill::quiet);
    svg.on_fill(
        left + wide / 2, top + high / 2 + 4.5, text::printed("%d%s", std::popcount(lanes), unit),
        shown);
  };
  for (const auto& [row, lanes] : tile.of_A) {
    box(kLeft - kGap - kBox, kTilesTop + row * scale, kBox, tile.wide_A * scale, lanes, " lanes");
  }
  for (const auto& [col, lanes] : tile.of_B) {
    box(kLeft + col * scale, kTilesTop - kGap - 22, tile.wide_B * scale, 22, lanes, "");
  }
  svg.text(24, kTilesTop + rows * scale / 2 + 4, "A", {.anchor = Anchor::middle, .bold = true});
  svg.right(kLeft - kGap - 4, kTilesTop - kGap - 7, "B, lanes");
  const std::string finding = finding_of(stage, tile);
  return svg.with(finding, kTilesTop + rows * scale + 34);
}

namespace {

constexpr int kShownLane = 6;  // its row of A and its k differ
constexpr double kMmaTop = 130, kMmaCell = 27;

// A matrix of an mma, with the lanes that hold its elements, lines between its blocks, and the
// lanes' registers at its edges.
void draw_held(
    Svg& svg, double x, const char* name, char letter, const model::FragmentLayout& layout,
    bool by_columns) {
  const int rows = by_columns ? layout.minors : layout.majors;
  const int cols = by_columns ? layout.majors : layout.minors;
  Owners lanes(rows, std::vector<int>(cols)), registers = lanes, blocks = lanes;
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    for (int i = 0; i < layout.elements(); ++i) {
      const auto [major, minor] = layout.position(lane, i);
      const int row = by_columns ? minor : major, col = by_columns ? major : minor;
      lanes[row][col] = lane;
      registers[row][col] = i;
      blocks[row][col] = i / layout.per;
    }
  }
  const double wide = cols * kMmaCell, high = rows * kMmaCell;
  const auto middle = [](int cell) { return (cell + 0.5) * kMmaCell; };
  const auto held = [&](int row, int col) {
    return text::printed("%c%d", letter, registers[row][col]);
  };
  svg.bold(x, kMmaTop - 24, text::printed("%s, %d × %d", name, rows, cols));
  svg.rect(x, kMmaTop, wide, high, Fill::paper);
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      if (lanes[row][col] != kShownLane) continue;
      svg.rect(x + col * kMmaCell, kMmaTop + row * kMmaCell, kMmaCell, kMmaCell, Fill::one);
    }
  }
  svg.grid(x, kMmaTop, wide, high, cols, rows);
  svg.path(borders(blocks, x, kMmaTop, kMmaCell), "thick");
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const bool shown = lanes[row][col] == kShownLane;
      svg.on_fill(
          x + middle(col), kMmaTop + middle(row) + 4.5, text::printed("%d", lanes[row][col]),
          shown);
    }
    if (by_columns) svg.faint(x + wide + 6, kMmaTop + middle(row) + 4.5, held(row, 0));
  }
  for (int col = 0; col < cols && !by_columns; ++col) {
    svg.centred_faint(x + middle(col), kMmaTop - 6, held(0, col));
    svg.centred_faint(x + middle(col), kMmaTop + high + 15, held(rows - 1, col));
  }
}

}  // namespace

Drawing draw_fragments() {
  constexpr model::MmaFragments kMma = model::fragments_of_mma(16, 8, 32);
  constexpr double kWide = 8 * kMmaCell, kSecond = 24 + kWide + 40, kThird = kSecond + kWide + 64;
  Svg svg;
  const double x = svg.legend(24, 66, Fill::one, text::printed("lane %d's elements", kShownLane));
  svg.faint(x, 66, "Numbers are lanes. Their registers stand at the edges.");
  draw_held(svg, 24, "A", 'a', kMma.a, false);
  draw_held(svg, kSecond, "B", 'b', kMma.b, true);
  draw_held(svg, kThird, "sums", 'd', kMma.d, false);
  double y = kMmaTop + kWide + 40;
  svg.bold(kSecond, y, text::printed("%d / 4 = %d", kShownLane, kShownLane / 4));
  svg.small(kSecond, y + 18, "row of A and of the sums; column of B");
  svg.bold(kSecond, y + 54, text::printed("%d %% 4 = %d", kShownLane, kShownLane % 4));
  svg.small(kSecond, y + 72, "k in A and B; pair in a row of sums");
  y = kMmaTop + 2 * kWide + 44;
  return svg.with(
      text::printed(
          "The lanes of a warp hold the matrices of an mma together: lane %d has %d of the %d × %d "
          "elements of A, %d of the %d × %d of B, and %d of the sums.",
          kShownLane, kMma.a.elements(), kMma.a.majors, kMma.a.minors, kMma.b.elements(),
          kMma.b.minors, kMma.b.majors, kMma.d.elements()),
      y);
}

}  // namespace pictures
