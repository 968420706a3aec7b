#include <algorithm>
#include <bit>
#include <map>

#include "pictures/cells.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr int kWarp = 1, kLane = 9;  // that are shown: the same as in draw_tiles.cpp
constexpr int kStepShown = 2;        // of k

using Lanes = std::uint32_t;

// Everything is counted from the warp's first row and column.
struct WarpTile {
  Owners lane;                 // [row][col] of C
  std::map<int, Lanes> of_A;   // who asks for the float4 of A that begins at this row
  std::map<int, Lanes> of_B;   // who asks for the float4 of B that begins at this column
  int wide_A = 1, wide_B = 1;  // floats in one of them
};

WarpTile tile_of(const TracedStage& stage) {
  const model::Variant& v = *stage.variant;
  const BlockRequests& block = stage.block;
  WarpTile tile{Owners(v.WM, std::vector<int>(v.WN, -1)), {}, {}};
  std::vector<Moved> all = elements_moved(block);
  std::erase_if(all, [&](const Moved& m) { return block.warp.warp_of(m.thread) != kWarp; });
  const auto request = [&](const Moved& moved) -> const Request& {
    return block.requests[moved.request];
  };
  const auto is_result = [&](const Moved& moved) {
    return !request(moved).shared && request(moved).array == "C" &&
           request(moved).direction == model::Direction::store;
  };
  int row0 = block.M, col0 = block.N;
  for (const Moved& moved : all) {
    if (!is_result(moved)) continue;
    row0 = std::min(row0, moved.elements[0].row);
    col0 = std::min(col0, moved.elements[0].col);
  }
  for (const Moved& moved : all) {
    const int lane = block.warp.lane_of(moved.thread);
    const Element& first = moved.elements[0];
    const int floats = static_cast<int>(moved.elements.size());
    if (is_result(moved)) {
      for (const Element& e : moved.elements) tile.lane.at(e.row - row0).at(e.col - col0) = lane;
    } else if (request(moved).shared && request(moved).direction == model::Direction::load) {
      if (first.matrix == 'A' && first.col == kStepShown) {
        tile.of_A[first.row - row0] |= 1u << lane;
        tile.wide_A = floats;
      } else if (first.matrix == 'B' && first.row == kStepShown) {
        tile.of_B[first.col - col0] |= 1u << lane;
        tile.wide_B = floats;
      }
    }
  }
  return tile;
}

// The lanes that ask for something that the shown lane asks for.
Lanes together(const std::map<int, Lanes>& asked) {
  Lanes lanes = 0;
  for (const auto& [begin, those] : asked) {
    if (those >> kLane & 1u) lanes |= those;
  }
  return lanes;
}

int loads(const std::map<int, Lanes>& asked) {
  return static_cast<int>(std::count_if(
      asked.begin(), asked.end(), [](const auto& one) { return one.second >> kLane & 1u; }));
}

int most_lanes(const std::map<int, Lanes>& asked) {
  int most = 0;
  for (const auto& [begin, lanes] : asked) most = std::max(most, std::popcount(lanes));
  return most;
}

std::string finding_of(const TracedStage& stage, const WarpTile& tile, std::size_t pieces) {
  const model::Variant& v = *stage.variant;
  return text::printed(
      "A warp of stage %d computes %d × %d of C, and each lane %d × %d of these, in %zu pieces. "
      "For "
      "each step of k a lane loads %d float4s of A and %d of B. %d lanes ask for the same float4 "
      "of "
      "A and %d for the same one of B. The whole warp needs %zu different float4s of A and %zu of "
      "B.",
      stage.stage->number, v.WM, v.WN, v.TM, v.TN, pieces, loads(tile.of_A), loads(tile.of_B),
      most_lanes(tile.of_A), most_lanes(tile.of_B), tile.of_A.size(), tile.of_B.size());
}

}  // namespace

Drawing draw_lanes(const TracedStage& stage) {
  const WarpTile tile = tile_of(stage);
  const int rows = static_cast<int>(tile.lane.size()), cols = static_cast<int>(tile.lane[0].size());
  constexpr double kLeft = 104, kTop = 148, kBox = 62, kGap = 6;
  const double scale = std::min(672.0 / cols, 8.0);
  const Lanes with_A = together(tile.of_A), with_B = together(tile.of_B);
  Svg svg;
  double x = svg.legend(24, 66, Fill::one, text::printed("lane %d, and what it loads", kLane));
  x = svg.legend(x, 66, Fill::warp, "asks for the same float4 of A");
  svg.legend(x, 66, Fill::other, "asks for the same float4 of B");
  svg.text(
      24, 90,
      "Numbers in the tile are lanes. At the left and above: how many lanes ask for each float4 in "
      "one step of k.",
      {.small = true, .faint = true});

  std::vector<Cells> of_lane(model::kWarpSize);
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      if (tile.lane[row][col] >= 0) of_lane[tile.lane[row][col]].insert({row, col});
    }
  }
  const auto fill_of = [&](int lane) {
    return lane == kLane         ? Fill::one
           : with_A >> lane & 1u ? Fill::warp
           : with_B >> lane & 1u ? Fill::other
                                 : Fill::paper;
  };
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    for (const Rectangle& r : rectangles(of_lane[lane])) {
      const double wide = r.cols * scale, high = r.rows * scale;
      const double left = kLeft + r.col * scale, top = kTop + r.row * scale;
      svg.rect(left, top, wide, high, fill_of(lane));
      svg.text(
          left + wide / 2, top + high / 2 + 4.5, text::printed("%d", lane),
          {.anchor = Anchor::middle, .small = true, .on_fill = fill_of(lane) != Fill::paper});
    }
  }
  const auto box = [&](double left, double top, double wide, double high, Lanes lanes,
                       const char* unit) {
    const bool shown = lanes >> kLane & 1u;
    svg.rect(left, top, wide, high, shown ? Fill::one : Fill::quiet);
    svg.text(
        left + wide / 2, top + high / 2 + 4.5, text::printed("%d%s", std::popcount(lanes), unit),
        {.anchor = Anchor::middle, .small = true, .on_fill = shown});
  };
  for (const auto& [row, lanes] : tile.of_A) {
    box(kLeft - kGap - kBox, kTop + row * scale, kBox, tile.wide_A * scale, lanes, " lanes");
  }
  for (const auto& [col, lanes] : tile.of_B) {
    box(kLeft + col * scale, kTop - kGap - 22, tile.wide_B * scale, 22, lanes, "");
  }
  svg.text(24, kTop + rows * scale / 2 + 4, "A", {.anchor = Anchor::middle, .bold = true});
  svg.text(kLeft - kGap - 4, kTop - kGap - 7, "B, lanes", {.anchor = Anchor::end, .small = true});
  const std::string finding = finding_of(stage, tile, rectangles(of_lane[kLane]).size());
  const double y = svg.paragraph(24, kTop + rows * scale + 34, finding, 752);
  return {finding, svg.elements(), y + 4};
}

}  // namespace pictures
