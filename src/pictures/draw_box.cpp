#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>

#include "model/tensor_core.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

using Kind = model::RecordedAction::Kind;

constexpr int kRows = 8, kChunks = 8;  // that are drawn: a swizzle's period
constexpr int kChunkBytes = 16, kRowBytes = kChunks * kChunkBytes;
constexpr double kWide = 38, kHigh = 20, kFromMatrix = 64, kFromShared = 440;

// A chunk of 16 bytes of a box.
struct Chunk {
  int row, number;
  auto operator<=>(const Chunk&) const = default;
};

// The first box of a matrix that the block has copied, and what is read there at a time.
struct Box {
  std::string heading;
  const char* row;  // what a row of it is
  model::RecordedAction copy;
  std::function<int(Chunk)> place;  // in its row of shared memory
  std::set<Chunk> read;
  std::string reader;
};

const model::RecordedAction& first_box(const BlockRequests& block, const char* matrix) {
  for (const auto& [told, requests] : block.actions) {
    if (told.kind == Kind::box && told.matrix >= 0 && block.arrays[told.matrix].name == matrix)
      return told;
  }
  throw std::logic_error(std::string("no box of ") + matrix);
}

// What the first wgmma reads of the first operand's eight rows, as its descriptor says.
Box box_of_wgmma(const BlockRequests& block) {
  const auto first = std::find_if(
      block.actions.begin(), block.actions.end(),
      [](const Action& action) { return action.told.kind == Kind::multiply; });
  if (first == block.actions.end()) throw std::logic_error("a block without wgmma");
  const model::MatrixDescriptor matrix = model::decoded(first->told.value);
  Box box{"A's box: 32 of K per row", "row", first_box(block, "A"), {}, {}, {}};
  box.place = [swizzle = matrix.swizzle](Chunk chunk) {
    const std::uint32_t at = chunk.row * kRowBytes + chunk.number * kChunkBytes;
    return static_cast<int>(model::swizzled(at, swizzle) % kRowBytes / kChunkBytes);
  };
  constexpr int kBytesOfK = 8 * 4;
  for (int row = 0; row < kRows; ++row) {
    for (int byte = 0; byte < kBytesOfK; byte += kChunkBytes) {
      const std::uint64_t at = model::address_in(matrix, row, byte) - box.copy.to;
      for (int number = 0; number < kChunks; ++number) {
        const Chunk chunk{row, number};
        const bool is_there = static_cast<int>(at / kRowBytes) == row &&
                              box.place(chunk) == static_cast<int>(at % kRowBytes / kChunkBytes);
        if (is_there) box.read.insert(chunk);
      }
    }
  }
  box.reader = "what a wgmma takes of 8 rows (8 of K)";
  return box;
}

// What the lanes that are served first read of B with the block's first load from there.
Box box_of_lanes(const BlockRequests& block, const model::RowSwizzle& swizzle) {
  Box box{"B's box: 32 columns per row", "k", first_box(block, "B"), {}, {}, {}};
  box.place = [keys = swizzle.keys](Chunk chunk) { return chunk.number ^ chunk.row % keys; };
  for (std::size_t r = 0; r < block.requests.size(); ++r) {
    const Request& request = block.requests[r];
    if (!request.shared || request.direction != model::Direction::load) continue;
    const std::uint64_t least = request.access.address[0];
    if (least < box.copy.to || least >= box.copy.to + box.copy.bytes) continue;
    const model::Wavefronts turns = wavefronts_of(block, r);
    const std::uint32_t lanes = turns[0].lanes;
    for (int lane = 0; lane < block.warp.lanes; ++lane) {
      if (!(lanes >> lane & 1u)) continue;
      const std::uint64_t at = request.access.address[lane] - box.copy.to;
      const int row = static_cast<int>(at / kRowBytes);
      for (int number = 0; number < kChunks; ++number) {
        if (box.place({row, number}) == static_cast<int>(at % kRowBytes / kChunkBytes))
          box.read.insert({row, number});
      }
    }
    box.reader = "what lanes " + lanes_text(lanes) + " read in one wavefront";
    return box;
  }
  throw std::logic_error("no load from B's box");
}

// That have what is read, if each chunk lies where `place` says.
int banks_of(const Box& box, const std::function<int(Chunk)>& place) {
  std::set<int> places;
  for (const Chunk& chunk : box.read) places.insert(place(chunk));
  return 4 * static_cast<int>(places.size());
}

int unmoved(Chunk chunk) {
  return chunk.number;
}

void draw_map(
    Svg& svg, double x, double y, const Box& box, const std::string& heading,
    const std::function<int(Chunk)>& place, bool in_banks) {
  svg.text(x, y, heading, {.small = true});
  y += 30;
  for (int at = 0; at < kChunks; ++at) {
    svg.text(
        x + (at + 0.5) * kWide, y - 5, text::printed("%d", in_banks ? 4 * at : at),
        {.anchor = Anchor::middle, .small = true, .faint = true});
  }
  for (int row = 0; row < kRows; ++row) {
    svg.text(
        x - 8, y + (row + 0.5) * kHigh + 4.5, text::printed("%s %d", box.row, row),
        {.anchor = Anchor::end, .small = true});
    for (int number = 0; number < kChunks; ++number) {
      const Chunk chunk{row, number};
      const double left = x + place(chunk) * kWide, top = y + row * kHigh;
      svg.rect(left, top, kWide, kHigh, box.read.contains(chunk) ? Fill::one : Fill::paper);
      svg.text(
          left + kWide / 2, top + kHigh / 2 + 4.5, text::printed("%d", number),
          {.anchor = Anchor::middle, .small = true, .on_fill = box.read.contains(chunk)});
    }
  }
}

// Returns the y below.
double draw(Svg& svg, double y, const Box& box) {
  svg.text(24, y, box.heading, {.bold = true});
  y += 24;
  draw_map(svg, kFromMatrix, y, box, "in the matrix: chunks of 16 bytes", unmoved, false);
  draw_map(svg, kFromShared, y, box, "in shared memory: banks", box.place, true);
  y += 30 + kRows * kHigh;
  svg.rect(kFromMatrix, y + 12, 14, 14, Fill::one);
  svg.text(kFromMatrix + 22, y + 24, box.reader, {.small = true});
  return y + 58;
}

}  // namespace

Drawing draw_box(const TracedStage& stage) {
  const auto of_B = std::find_if(
      stage.stage->swizzles.begin(), stage.stage->swizzles.end(),
      [](const model::RowSwizzle& swizzle) { return std::string_view(swizzle.tile) == "B"; });
  if (of_B == stage.stage->swizzles.end()) throw std::logic_error("B is not swizzled");
  const Box boxes[] = {box_of_wgmma(stage.block), box_of_lanes(stage.block, *of_B)};
  std::string finding =
      "The copy engine writes chunk c of row r of a box to place c ^ r % 8 of its row.";
  Svg svg;
  double y = 70;
  for (const Box& box : boxes) {
    finding += text::printed(
        " In %c's box, %s lies in %d banks instead of %d.", box.heading[0], box.reader.c_str(),
        banks_of(box, box.place), banks_of(box, unmoved));
    y = draw(svg, y, box);
  }
  y = svg.paragraph(24, y, finding, 752);
  return {finding, svg.elements(), y + 4};
}

}  // namespace pictures
