#include <algorithm>
#include <bit>

#include "lab/run.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 24, kCell = 11, kGap = 6, kHigh = 18;
constexpr int kSectorsAcross = 8;

std::string summary(const Request& request, const model::Sectors& sectors) {
  const int touched = static_cast<int>(sectors.size());
  return request.array + ", " + lab::name_of(request.direction) +
         text::printed(
             " of %d bytes per lane: %d sector%s, ", request.access.bytes, touched,
             touched == 1 ? "" : "s") +
         (touched > request.ideal ? text::printed("%d would be enough", request.ideal)
                                  : "the fewest possible");
}

// The first request of the shown warp for each array and direction: where it stands.
std::vector<std::size_t> typical(const BlockRequests& block) {
  std::vector<std::size_t> chosen;
  for (std::size_t r = 0; r < block.requests.size(); ++r) {
    const Request& request = block.requests[r];
    if (request.shared) continue;
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t other) {
      return block.requests[other].array == request.array &&
             block.requests[other].direction == request.direction;
    });
    if (!known) chosen.push_back(r);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    return block.requests[a].array < block.requests[b].array;
  });
  return chosen;
}

double draw_request(Svg& svg, double y, const Request& request, const model::Sectors& sectors) {
  const int words_of_sector = request.access.warp.sector_words();
  svg.text(kLeft, y, summary(request, sectors), {.bold = true});
  y += 12;
  int at = 0;
  for (const model::Sector& sector : sectors) {
    const auto words = model::lanes_at_words(request.access, sector);
    const double x = kLeft + at % kSectorsAcross * (words_of_sector * kCell + kGap);
    if (at > 0 && at % kSectorsAcross == 0) y += kHigh + 24;
    for (int w = 0; w < words_of_sector;) {  // neighbours that are alike as one
      int last = w;
      while (last < words_of_sector && (words[last] != 0) == (words[w] != 0)) ++last;
      svg.rect(
          x + w * kCell, y, (last - w) * kCell, kHigh,
          words[w] == 0                 ? Fill::trouble
          : std::popcount(words[w]) > 1 ? Fill::other
                                        : Fill::warp);
      w = last;
    }
    svg.path(
        [&] {
          std::string d;
          for (int w = 1; w < words_of_sector; ++w)
            d += "M" + pixels(x + w * kCell) + " " + pixels(y) + "v" + pixels(kHigh);
          return d;
        }(),
        "hair");
    svg.text(
        x + words_of_sector * kCell / 2, y + kHigh + 14,
        (std::popcount(sector.lanes) == 1 ? "lane " : "lanes ") + lanes_text(sector.lanes),
        {.anchor = Anchor::middle, .small = true});
    ++at;
  }
  return y + kHigh + 44;
}

}  // namespace

Drawing draw_coalescing(const BlockRequests& block) {
  std::string finding;
  const std::vector<std::size_t> chosen = typical(block);
  for (const std::size_t r : chosen) {
    finding += (finding.empty() ? "One request of a warp for each array. " : " ") +
               summary(block.requests[r], sectors_of(block, r)) + ".";
  }
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "one lane asks for it");
  x = svg.legend(x, 66, Fill::other, "several lanes ask for it; it moves once");
  svg.legend(x, 66, Fill::trouble, "moved, but no lane asks for it");
  svg.text(
      24, 90,
      text::printed(
          "A box is a sector: %d bytes, %d floats, the least that memory moves. Below it: the "
          "lanes "
          "that touch it.",
          block.warp.sector_bytes, block.warp.sector_words()),
      {.small = true, .faint = true});
  double y = 124;
  for (const std::size_t r : chosen) {
    y = draw_request(svg, y, block.requests[r], sectors_of(block, r));
  }
  return {finding, svg.elements(), y - 12};
}

}  // namespace pictures
