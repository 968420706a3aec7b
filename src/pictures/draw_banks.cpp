#include <algorithm>
#include <bit>
#include <map>

#include "lab/run.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 64, kCell = 22, kHigh = 20;
constexpr std::size_t kMostTurns = 16;

// A request to shared memory, and whose tile it is on.
struct Shown {
  const Request* request;
  std::size_t number;  // in BlockRequests::requests
  char matrix;
};

double waste(const Request& request) {
  return static_cast<double>(request.pieces) / std::max(request.ideal, 1);
}

// The costliest request, the first of them, of each kind.
std::vector<Shown> worst(const BlockRequests& block) {
  std::vector<char> matrix_of(block.requests.size());
  for (const Moved& moved : elements_moved(block)) {
    if (char& matrix = matrix_of[moved.request]; matrix == 0) matrix = moved.elements[0].matrix;
  }
  std::vector<Shown> chosen;
  for (std::size_t r = 0; r < block.requests.size(); ++r) {
    const Request& request = block.requests[r];
    if (!request.shared) continue;
    // What a cp.async copies is known with its other side, the request behind it.
    const bool is_copy =
        request.direction == model::Direction::copy && r + 1 < block.requests.size();
    const Shown shown{&request, r, matrix_of[is_copy ? r + 1 : r]};
    const auto known = std::find_if(chosen.begin(), chosen.end(), [&](const Shown& other) {
      return other.matrix == shown.matrix && other.request->array == request.array &&
             other.request->direction == request.direction &&
             other.request->access.bytes == request.access.bytes;
    });
    if (known == chosen.end()) {
      chosen.push_back(shown);
    } else if (waste(request) > waste(*known->request)) {
      *known = shown;
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Shown& a, const Shown& b) {
    return std::pair(a.request->direction == model::Direction::load, a.matrix) <
           std::pair(b.request->direction == model::Direction::load, b.matrix);
  });
  return chosen;
}

std::string summary(const Shown& shown) {
  const Request& request = *shown.request;
  const int more = request.pieces - request.ideal;
  const std::string where =
      shown.matrix != 0 ? text::printed("%c's tile", shown.matrix) : request.array;
  const std::string text =
      where + ", " +
      (request.direction == model::Direction::copy ? "cp.async" : lab::name_of(request.direction)) +
      text::printed(" of %d bytes per lane: ", request.access.bytes);
  return text + text::printed("%d wavefront%s, ", request.pieces, request.pieces == 1 ? "" : "s") +
         (more == 0 ? "no conflict" : text::printed("%d would be enough", request.ideal));
}

// Why a lane is not served in its group's first turn.
struct Waits {
  std::uint32_t for_bank = 0;  // another lane's word lies in its bank of shared memory
  std::uint32_t for_l1 = 0;    // a cp.async reads another lane's word from its bank of L1
};

// The side of a cp.async of 4 or 8 bytes that reads; null for any other request. Wide copies move
// whole sectors, and no bank of theirs is read twice.
const model::WarpAccess* read_by_copy(const BlockRequests& block, const Shown& shown) {
  const bool narrow = shown.request->direction == model::Direction::copy &&
                      shown.request->access.bytes < 16 && shown.number + 1 < block.requests.size();
  return narrow ? &block.requests[shown.number + 1].access : nullptr;
}

Waits waits_of(const model::Wavefronts& turns, const model::WarpAccess* read) {
  Waits waits;
  std::uint32_t earlier = 0;  // lanes of the same group
  for (std::size_t t = 0; t < turns.size(); ++t) {
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

// One row: which lanes have a word in which bank.
void draw_row(
    Svg& svg, double y, const std::string& name,
    const model::ShortList<std::uint32_t, model::kBanks>& banks, const Waits& waits) {
  const int all_banks = static_cast<int>(banks.size());
  svg.text(24, y + 15, name, {.small = true});
  svg.rect(kLeft, y, all_banks * kCell, kHigh, Fill::quiet);
  for (int bank = 0; bank < all_banks;) {
    int last = bank;
    while (last < all_banks && banks[last] == banks[bank]) ++last;
    const std::uint32_t lanes = banks[bank];
    const double x = kLeft + bank * kCell, width = (last - bank) * kCell;
    bank = last;
    if (lanes == 0) continue;
    svg.rect(
        x, y, width, kHigh,
        (lanes & waits.for_l1) != 0     ? Fill::waiting
        : (lanes & waits.for_bank) != 0 ? Fill::trouble
        : std::popcount(lanes) > 1      ? Fill::other
                                        : Fill::warp);
    std::string label = lanes_text(lanes);
    if (text_width(label, {.small = true}) + 4 > width) {
      label = text::printed("%d", std::countr_zero(lanes));
    }
    svg.text(
        x + width / 2, y + 15, label, {.anchor = Anchor::middle, .small = true, .on_fill = true});
  }
}

// "and 16 more" in place of the rows after the first kMostTurns; returns the y after all rows.
template <class Row>
double draw_rows(Svg& svg, double y, std::size_t rows, Row row) {
  for (std::size_t r = 0; r < rows; ++r, y += kHigh + 2) {
    if (r == kMostTurns) {
      svg.text(24, y + 15, text::printed("and %zu more", rows - kMostTurns), {.small = true});
      return y + kHigh + 2;
    }
    row(r, y);
  }
  return y;
}

// What a copy reads, a row for each line of L1.
double draw_lines(
    Svg& svg, double y, const model::WarpAccess& read, std::uint32_t lanes, const Waits& waits) {
  const int line_bytes = read.warp.row_bytes();
  std::map<std::uint64_t, std::uint32_t> lines;  // lanes, by the line that they read
  model::for_each_lane(
      lanes, [&](int lane) { lines[read.address[lane] / line_bytes] |= 1u << lane; });
  svg.text(
      kLeft, y + 13,
      text::printed(
          "reads from L1: a row is %d bytes, which lie in %d banks", line_bytes, read.warp.banks),
      {.small = true});
  auto line = lines.begin();
  return draw_rows(svg, y + 20, lines.size(), [&](std::size_t r, double at) {
    draw_row(
        svg, at, text::printed("line %zu", r + 1), model::lanes_at_banks(read, line->second),
        waits);
    ++line;
  });
}

double draw_turns(Svg& svg, double y, const BlockRequests& block, const Shown& shown) {
  const model::Wavefronts turns = wavefronts_of(block, shown.number);
  const model::WarpAccess* read = read_by_copy(block, shown);
  const Waits waits = waits_of(turns, read);
  svg.text(24, y, summary(shown), {.bold = true});
  y += 10;
  if (waits.for_l1 != 0) {
    y = draw_lines(svg, y, *read, shown.request->access.active & read->active, waits) + 4;
    svg.text(kLeft, y + 13, "writes to shared memory: a row is a wavefront", {.small = true});
    y += 20;
  }
  y = draw_rows(svg, y, turns.size(), [&](std::size_t t, double at) {
    draw_row(
        svg, at, text::printed("%zu", t + 1),
        model::lanes_at_banks(shown.request->access, turns[t].lanes), waits);
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
    const Waits waits = waits_of(wavefronts_of(block, shown.number), read_by_copy(block, shown));
    finding +=
        " " + summary(shown) + (waits.for_l1 != 0 ? ": its lanes read the same banks of L1." : ".");
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
  svg.text(
      24, 90,
      text::printed(
          "A row is a wavefront: what the %d banks transfer in one cycle. Numbers are lanes; a "
          "narrow box names only the first.",
          block.warp.banks),
      {.small = true, .faint = true});
  svg.text(24, 114, "bank", {.small = true, .faint = true});
  for (int bank = 0; bank < block.warp.banks; bank += 4) {
    svg.text(
        kLeft + (bank + 0.5) * kCell, 114, text::printed("%d", bank),
        {.anchor = Anchor::middle, .small = true, .faint = true});
  }
  double y = 142;
  for (const Shown& shown : chosen) y = draw_turns(svg, y, block, shown);
  return Drawing{finding, svg.elements(), y - 12};
}

}  // namespace pictures
