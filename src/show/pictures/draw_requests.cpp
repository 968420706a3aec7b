// What a warp's requests touch: the sectors of global memory and the banks of shared memory.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "lab/run.h"
#include "model/warp_access.h"
#include "show/pictures/pictures.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kSectorsLeft = 24, kLaneWide = 11, kLaneGap = 6, kSectorHigh = 18;
constexpr int kSectorsAcross = 8;

std::string summary(const BlockRequests& block, std::size_t at) {
  const model::RecordedEvent& request = block.events[at];
  const int touched = sectors_of(request_at(block, at)).size();
  return block.array_of(request).name + ", " + lab::name_of(block.site_of(request).direction) +
         text::printed(" of %d bytes per lane: ", request.access.bytes) +
         counted(touched, "sector") + ", " +
         (touched > request.ideal ? text::printed("%d would be enough", request.ideal)
                                  : "the fewest possible");
}

// The first request to global memory for each array and direction.
std::map<std::pair<std::string, model::Direction>, std::size_t> typical(
    const BlockRequests& block) {
  std::map<std::pair<std::string, model::Direction>, std::size_t> chosen;
  for (std::size_t r = 0; r < block.events.size(); ++r) {
    const model::RecordedArray& array = block.array_of(block.events[r]);
    if (array.shared) continue;
    chosen.try_emplace({array.name, block.site_of(block.events[r]).direction}, r);
  }
  return chosen;
}

double draw_request(Svg& svg, double y, const BlockRequests& block, std::size_t at_request) {
  const WarpRequest request = request_at(block, at_request);
  const int words_of_sector = request.access.warp.sector_words();
  svg.bold(kSectorsLeft, y, summary(block, at_request));
  y += 12;
  int at = 0;
  for (const model::Sector& sector : sectors_of(request)) {
    const auto words = model::lanes_at_words(request.access, sector);
    const double x = kSectorsLeft + at % kSectorsAcross * (words_of_sector * kLaneWide + kLaneGap);
    if (at > 0 && at % kSectorsAcross == 0) y += kSectorHigh + 24;
    for (int w = 0; w < words_of_sector;) {  // neighbours that are alike as one
      int last = w;
      while (last < words_of_sector && (words[last] != 0) == (words[w] != 0)) ++last;
      svg.rect(
          x + w * kLaneWide, y, (last - w) * kLaneWide, kSectorHigh,
          words[w] == 0                 ? Fill::trouble
          : std::popcount(words[w]) > 1 ? Fill::other
                                        : Fill::warp);
      w = last;
    }
    std::string lines;
    for (int w = 1; w < words_of_sector; ++w)
      lines += "M" + pixels(x + w * kLaneWide) + " " + pixels(y) + "v" + pixels(kSectorHigh);
    svg.path(lines, "hair");
    svg.centred(
        x + words_of_sector * kLaneWide / 2, y + kSectorHigh + 14,
        (std::popcount(sector.lanes) == 1 ? "lane " : "lanes ") +
            text::numbers_of_bits(sector.lanes));
    ++at;
  }
  return y + kSectorHigh + 44;
}

}  // namespace

Drawing draw_coalescing(const BlockRequests& block) {
  std::string finding;
  const auto chosen = typical(block);
  for (const auto& [kind, r] : chosen) {
    finding += (finding.empty() ? "One request of a warp for each array. " : " ") +
               summary(block, r) + ".";
  }
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "one lane asks for it");
  x = svg.legend(x, 66, Fill::other, "several lanes ask for it; it moves once");
  svg.legend(x, 66, Fill::trouble, "moved, but no lane asks for it");
  svg.faint(
      24, 90,
      text::printed(
          "A box is a sector: %d bytes, %d floats, the least that memory moves. Below it: the "
          "lanes "
          "that touch it.",
          block.warp.sector_bytes, block.warp.sector_words()));
  double y = 124;
  for (const auto& [kind, r] : chosen) y = draw_request(svg, y, block, r);
  return {finding, svg.elements(), y - 12};
}

namespace {

constexpr double kBanksLeft = 64, kBankWide = 22, kBankHigh = 20;
constexpr std::size_t kMostTurns = 16;

// A request to shared memory, and the matrix of its tile.
struct Shown {
  std::size_t number;  // in BlockRequests::events
  char matrix;
};

std::vector<Shown> worst(const BlockRequests& block) {
  std::vector<char> matrix_of(block.events.size());
  for (const Moved& moved : elements_moved(block)) {
    if (char& matrix = matrix_of[moved.request]; matrix == 0) matrix = moved.elements[0].matrix;
  }
  using Kind = std::tuple<bool, char, std::string, model::Direction, int>;
  const auto kind_of = [&](std::size_t r) -> std::optional<Kind> {
    const model::RecordedEvent& request = block.events[r];
    const model::Direction direction = block.site_of(request).direction;
    const model::RecordedArray& array = block.array_of(request);
    if (!array.shared) return std::nullopt;
    return Kind{
        direction == model::Direction::load, matrix_of[r], array.name, direction,
        request.access.bytes};
  };
  std::vector<std::size_t> chosen = costliest(block, kind_of, [&](std::size_t r) {
    return static_cast<double>(block.events[r].pieces) / std::max(block.events[r].ideal, 1);
  });
  const auto order = [&](std::size_t r) {
    const auto [loads, matrix, array, direction, bytes] = kind_of(r).value();
    return std::pair(loads, matrix);
  };
  std::ranges::stable_sort(chosen, {}, order);
  std::vector<Shown> shown;
  for (const std::size_t r : chosen) shown.push_back({r, order(r).second});
  return shown;
}

std::string summary(const BlockRequests& block, const Shown& shown) {
  const model::RecordedEvent& request = block.events[shown.number];
  const model::Direction direction = block.site_of(request).direction;
  const std::string where =
      shown.matrix != 0 ? text::printed("%c's tile", shown.matrix) : block.array_of(request).name;
  return where + ", " +
         (direction == model::Direction::copy ? "cp.async" : lab::name_of(direction)) +
         text::printed(" of %d bytes per lane: ", request.access.bytes) +
         counted(request.pieces, "wavefront") + ", " +
         (request.pieces == request.ideal ? "no conflict"
                                          : text::printed("%d would be enough", request.ideal));
}

// Why a lane is not served in its group's first turn.
struct Waits {
  std::uint32_t for_bank = 0;  // another lane's word lies in its bank of shared memory
  std::uint32_t for_l1 = 0;    // a cp.async reads another lane's word from its bank of L1
};

// The reading side of a cp.async of 4 or 8 bytes; null for any other request. Wide copies move
// whole sectors, so they never read a bank twice.
const model::WarpAccess* read_by_copy(const WarpRequest& request) {
  return request.access.bytes < 16 ? request.other : nullptr;
}

Waits waits_of(const model::Wavefronts& turns, const model::WarpAccess* read) {
  Waits waits;
  std::uint32_t earlier = 0;  // lanes of the same group
  for (int t = 0; t < turns.size(); ++t) {
    if (t == 0 || turns[t - 1].group != turns[t].group) {
      earlier = turns[t].lanes;
      continue;
    }
    std::uint32_t in_the_way = 0;
    if (read) {
      for (const std::uint32_t lanes : model::lanes_at_banks(*read, earlier | turns[t].lanes)) {
        if ((lanes & earlier) != 0) in_the_way |= lanes & turns[t].lanes;
      }
    }
    waits.for_l1 |= in_the_way;
    waits.for_bank |= turns[t].lanes & ~in_the_way;
    earlier |= turns[t].lanes;
  }
  return waits;
}

// One row: which lanes access a word in which bank.
void draw_row(
    Svg& svg, double y, const std::string& name,
    const model::ShortList<std::uint32_t, model::kBanks>& banks, const Waits& waits) {
  const int all_banks = static_cast<int>(banks.size());
  svg.small(24, y + 15, name);
  svg.rect(kBanksLeft, y, all_banks * kBankWide, kBankHigh, Fill::quiet);
  for (int bank = 0; bank < all_banks;) {
    int last = bank;
    while (last < all_banks && banks[last] == banks[bank]) ++last;
    const std::uint32_t lanes = banks[bank];
    const double x = kBanksLeft + bank * kBankWide, width = (last - bank) * kBankWide;
    bank = last;
    if (lanes == 0) continue;
    svg.rect(
        x, y, width, kBankHigh,
        (lanes & waits.for_l1) != 0     ? Fill::waiting
        : (lanes & waits.for_bank) != 0 ? Fill::trouble
        : std::popcount(lanes) > 1      ? Fill::other
                                        : Fill::warp);
    std::string label = text::numbers_of_bits(lanes);
    if (text_width(label, {.small = true}) + 4 > width) {
      label = text::printed("%d", std::countr_zero(lanes));
    }
    svg.on_fill(x + width / 2, y + 15, label);
  }
}

// "and 16 more" in place of the rows after the first kMostTurns; returns the y after all rows.
template <class Row>
double draw_rows(Svg& svg, double y, std::size_t rows, Row row) {
  for (std::size_t r = 0; r < rows; ++r, y += kBankHigh + 2) {
    if (r == kMostTurns) {
      svg.small(24, y + 15, text::printed("and %zu more", rows - kMostTurns));
      return y + kBankHigh + 2;
    }
    row(r, y);
  }
  return y;
}

// The words that a copy reads, with a row for each line of L1.
double draw_lines(
    Svg& svg, double y, const model::WarpAccess& read, std::uint32_t lanes, const Waits& waits) {
  const int line_bytes = read.warp.row_bytes();
  std::map<std::uint64_t, std::uint32_t> lines;  // lanes, by the line that they read
  model::for_each_lane(
      lanes, [&](int lane) { lines[read.address[lane] / line_bytes] |= 1u << lane; });
  svg.small(
      kBanksLeft, y + 13,
      text::printed(
          "reads from L1: a row is %d bytes, which lie in %d banks", line_bytes, read.warp.banks));
  auto line = lines.begin();
  return draw_rows(svg, y + 20, lines.size(), [&](std::size_t r, double at) {
    draw_row(
        svg, at, text::printed("line %zu", r + 1), model::lanes_at_banks(read, line->second),
        waits);
    ++line;
  });
}

double draw_turns(Svg& svg, double y, const BlockRequests& block, const Shown& shown) {
  const WarpRequest request = request_at(block, shown.number);
  const model::Wavefronts turns = wavefronts_of(request);
  const model::WarpAccess* read = read_by_copy(request);
  const Waits waits = waits_of(turns, read);
  svg.bold(24, y, summary(block, shown));
  y += 10;
  if (waits.for_l1 != 0) {
    y = draw_lines(svg, y, *read, request.access.active & read->active, waits) + 4;
    svg.small(kBanksLeft, y + 13, "writes to shared memory: a row is a wavefront");
    y += 20;
  }
  y = draw_rows(svg, y, turns.size(), [&](std::size_t t, double at) {
    draw_row(
        svg, at, text::printed("%zu", t + 1), model::lanes_at_banks(request.access, turns[t].lanes),
        waits);
  });
  return y + 32;
}

}  // namespace

std::optional<Drawing> draw_banks(const BlockRequests& block) {
  const std::vector<Shown> chosen = worst(block);
  if (chosen.empty()) return std::nullopt;
  std::string finding = "A warp's costliest request of each kind.";
  bool waits_for_bank = false, waits_for_l1 = false;
  for (const Shown& shown : chosen) {
    const WarpRequest request = request_at(block, shown.number);
    const Waits waits = waits_of(wavefronts_of(request), read_by_copy(request));
    finding += " " + summary(block, shown) +
               (waits.for_l1 != 0 ? ": its lanes read the same banks of L1." : ".");
    waits_for_bank |= waits.for_bank != 0;
    waits_for_l1 |= waits.for_l1 != 0;
  }
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "a lane's word");
  x = svg.legend(x, 66, Fill::other, "one word for several lanes");
  if (waits_for_bank || !waits_for_l1) {
    x = svg.legend(x, 66, Fill::trouble, "waits: its bank is busy");
  }
  if (waits_for_l1) svg.legend(x, 66, Fill::waiting, "waits: its bank of L1 is busy");
  svg.faint(
      24, 90,
      text::printed(
          "A row is a wavefront: what the %d banks transfer in one cycle. Numbers are lanes; a "
          "narrow box names only the first.",
          block.warp.banks));
  svg.faint(24, 114, "bank");
  for (int bank = 0; bank < block.warp.banks; bank += 4) {
    svg.centred_faint(kBanksLeft + (bank + 0.5) * kBankWide, 114, text::printed("%d", bank));
  }
  double y = 142;
  for (const Shown& shown : chosen) y = draw_turns(svg, y, block, shown);
  return Drawing{finding, svg.elements(), y - 12};
}

namespace {

constexpr int kTileSide = 32;  // rows and columns of the tile, of floats
constexpr int kShownColumn = 3, kShownRow = 20;

// Where element (row, col) of the tile lies in shared memory, in words.
struct Layout {
  const char* name;
  const char* index;  // as a kernel writes it
  int (*word)(int row, int col);
  int words;
};

const Layout kLayouts[] = {
    {"as it is", "float tile[32][32], at [r][c]",
     [](int row, int col) { return row * kTileSide + col; }, kTileSide* kTileSide},
    {"padded", "float tile[32][33], at [r][c]",
     [](int row, int col) { return row * (kTileSide + 1) + col; }, kTileSide*(kTileSide + 1)},
    {"swizzled", "float tile[32][32], at [r][c ^ r]",
     [](int row, int col) { return row * kTileSide + (col ^ row); }, kTileSide* kTileSide},
};

// One warp's load of a column or a row of the tile.
model::WarpAccess load(const Layout& layout, bool of_column) {
  model::WarpAccess access{~0u, 4, {}};
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    const int word = of_column ? layout.word(lane, kShownColumn) : layout.word(kShownRow, lane);
    access.address[lane] = 4 * static_cast<std::uint64_t>(word);
  }
  return access;
}

std::string wavefronts_text(const model::WarpAccess& access) {
  return counted(model::wavefronts_of_load(access).size(), "wavefront");
}

void draw(Svg& svg, double x, double y, const Layout& layout) {
  constexpr double kCell = 7.4;
  svg.bold(x, y, layout.name);
  svg.small(x, y + 19, layout.index);
  y += 48;
  for (const int bank : {0, 8, 16, 24, 31}) {
    svg.centred_faint(x + (bank + 0.5) * kCell, y - 5, text::printed("%d", bank));
  }
  const int rows = (layout.words + kTileSide - 1) / kTileSide;
  svg.rect(x, y, kTileSide * kCell, rows * kCell, Fill::quiet);
  svg.grid(x, y, kTileSide * kCell, rows * kCell, kTileSide, rows);
  const model::WarpAccess row = load(layout, false), column = load(layout, true);
  const auto mark = [&](const model::WarpAccess& access, Fill fill) {
    for (int lane = 0; lane < model::kWarpSize; ++lane) {
      const int word = static_cast<int>(access.address[lane] / 4);
      svg.rect(x + word % kTileSide * kCell, y + word / kTileSide * kCell, kCell, kCell, fill);
    }
  };
  mark(row, Fill::warp);
  mark(column, Fill::one);
  y += rows * kCell + 22;
  svg.small(x, y, "a row: " + wavefronts_text(row));
  svg.bold(x, y + 17, "a column: " + wavefronts_text(column));
  svg.small(x, y + 36, text::grouped(4 * layout.words) + " bytes");
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
  double x =
      svg.legend(24, 66, Fill::one, text::printed("column %d, one word per lane", kShownColumn));
  svg.legend(x, 66, Fill::warp, text::printed("row %d, one word per lane", kShownRow));
  for (int i = 0; i < 3; ++i) draw(svg, 24 + i * 256.0, 102, kLayouts[i]);
  svg.faint(
      24, 486,
      "Across: the 32 banks. Down: the words of shared memory, 32 per line. A column of this "
      "picture is one bank.");
  return {
      "padding-and-swizzle",
      "Padding and swizzle: a column of a tile, over the banks",
      {finding, svg.elements(), 506}};
}

}  // namespace pictures
