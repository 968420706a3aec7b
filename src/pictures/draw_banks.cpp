#include <algorithm>
#include <bit>

#include "lab/worst_line.h"
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
      text::printed(" of %d bytes a lane: ", request.access.bytes);
  return text + text::printed("%d wavefront%s, ", request.pieces, request.pieces == 1 ? "" : "s") +
         (more == 0 ? "no conflict" : text::printed("where %d would do", request.ideal));
}

double draw_turns(Svg& svg, double y, const BlockRequests& block, const Shown& shown) {
  const model::Wavefronts turns = wavefronts_of(block, shown.number);
  svg.text(24, y, summary(shown), {.bold = true});
  y += 10;
  int turn_of_group = 0;
  const int all_banks = block.warp.banks;
  for (std::size_t t = 0; t < turns.size(); ++t) {
    if (t == kMostTurns) {
      svg.text(
          24, y + 15, text::printed("and %zu more", turns.size() - kMostTurns), {.small = true});
      return y + kHigh + 34;
    }
    const bool again = t > 0 && turns[t - 1].group == turns[t].group;
    turn_of_group = again ? turn_of_group + 1 : 0;
    svg.text(24, y + 15, text::printed("%zu", t + 1), {.small = true});
    svg.rect(kLeft, y, all_banks * kCell, kHigh, Fill::quiet);
    const auto banks = model::lanes_at_banks(shown.request->access, turns[t].lanes);
    for (int bank = 0; bank < all_banks;) {
      int last = bank;
      while (last < all_banks && banks[last] == banks[bank]) ++last;
      const std::uint32_t lanes = banks[bank];
      if (lanes != 0) {
        svg.rect(
            kLeft + bank * kCell, y, (last - bank) * kCell, kHigh,
            turn_of_group > 0          ? Fill::trouble
            : std::popcount(lanes) > 1 ? Fill::other
                                       : Fill::warp);
        std::string label = lanes_text(lanes);
        if (7.5 * text::display_width(label) > (last - bank) * kCell) {
          label = text::printed("%d", std::countr_zero(lanes));
        }
        svg.text(
            kLeft + (bank + last) / 2.0 * kCell, y + 15, label,
            {.anchor = Anchor::middle, .small = true, .on_fill = true});
      }
      bank = last;
    }
    y += kHigh + 2;
  }
  return y + 32;
}

}  // namespace

std::optional<Picture> draw_banks(const TracedStage& stage) {
  return draw_banks(
      text::printed("stage%d-banks", stage.stage->number),
      text::printed("Stage %d, %s", stage.stage->number, stage.stage->name), stage.block);
}

std::optional<Picture> draw_banks(
    const std::string& file, const std::string& name, const BlockRequests& block) {
  const std::vector<Shown> chosen = worst(block);
  if (chosen.empty()) return std::nullopt;
  Picture picture;
  picture.name = file;
  picture.finding = "A warp's costliest request of each kind.";
  for (const Shown& shown : chosen) picture.finding += " " + summary(shown) + ".";
  Svg svg(name + ": the banks of shared memory", picture.finding);
  double x = svg.legend(24, 66, Fill::warp, "a lane's word");
  x = svg.legend(x, 66, Fill::other, "one word for several lanes, at once");
  svg.legend(x, 66, Fill::trouble, "has to wait: its bank was busy");
  svg.text(
      24, 90,
      text::printed(
          "A row is a wavefront: what the %d banks hand over in one cycle. Numbers are lanes, the "
          "first of many.",
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
  picture.svg = svg.file(y - 12);
  return picture;
}

}  // namespace pictures
