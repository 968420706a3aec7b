#include <algorithm>
#include <bit>

#include "lab/worst_line.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 24, kCell = 11, kGap = 6, kHigh = 18;
constexpr int kSectorsAcross = 8;

int used_bytes(const model::WarpAccess& access) {
  int words = 0;
  for (const model::Sector& sector : model::sectors(access)) {
    for (const std::uint32_t lanes : model::lanes_at_words(access, sector)) words += lanes != 0;
  }
  return model::kWordBytes * words;
}

std::string summary(const Request& request, const model::Sectors& sectors) {
  const int sector_bytes = request.access.warp.sector_bytes;
  const int needed = (used_bytes(request.access) + sector_bytes - 1) / sector_bytes;
  const int touched = static_cast<int>(sectors.size());
  return request.array + ", " + lab::name_of(request.direction) +
         text::printed(
             " of %d bytes a lane: %d sector%s, ", request.access.bytes, touched,
             touched == 1 ? "" : "s") +
         (touched > needed ? text::printed("where %d would do", needed) : "no fewer would do");
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
  const model::WarpGeometry warp = request.access.warp;
  const int words_a_sector = warp.sector_words();
  const bool in_vain = warp.sector_bytes * static_cast<int>(sectors.size()) >=
                       used_bytes(request.access) + warp.sector_bytes;
  svg.text(kLeft, y, summary(request, sectors), {.bold = true});
  y += 12;
  int at = 0;
  for (const model::Sector& sector : sectors) {
    const auto words = model::lanes_at_words(request.access, sector);
    const double x = kLeft + at % kSectorsAcross * (words_a_sector * kCell + kGap);
    if (at > 0 && at % kSectorsAcross == 0) y += kHigh + 24;
    for (int w = 0; w < words_a_sector;) {  // neighbours that are alike as one
      int last = w;
      while (last < words_a_sector && (words[last] != 0) == (words[w] != 0)) ++last;
      svg.rect(
          x + w * kCell, y, (last - w) * kCell, kHigh,
          words[w] == 0                 ? (in_vain ? Fill::trouble : Fill::quiet)
          : std::popcount(words[w]) > 1 ? Fill::other
                                        : Fill::warp);
      w = last;
    }
    svg.path(
        [&] {
          std::string d;
          for (int w = 1; w < words_a_sector; ++w)
            d += "M" + pixels(x + w * kCell) + " " + pixels(y) + "v" + pixels(kHigh);
          return d;
        }(),
        "hair");
    svg.text(
        x + words_a_sector * kCell / 2, y + kHigh + 14,
        (std::popcount(sector.lanes) == 1 ? "lane " : "lanes ") + lanes_text(sector.lanes),
        {.anchor = Anchor::middle, .small = true});
    ++at;
  }
  return y + kHigh + 44;
}

}  // namespace

Picture draw_coalescing(const TracedStage& stage) {
  return draw_coalescing(
      text::printed("stage%d-coalescing", stage.stage->number),
      text::printed("Stage %d, %s", stage.stage->number, stage.stage->name), stage.block);
}

Picture draw_coalescing(
    const std::string& file, const std::string& name, const BlockRequests& block) {
  Picture picture;
  picture.name = file;
  const std::vector<std::size_t> chosen = typical(block);
  for (const std::size_t r : chosen) {
    picture.finding += (picture.finding.empty() ? "One request of a warp each. " : " ") +
                       summary(block.requests[r], sectors_of(block, r)) + ".";
  }
  Svg svg(name + ": what a warp asks of global memory", picture.finding);
  double x = svg.legend(24, 66, Fill::warp, "asked for by one lane");
  x = svg.legend(x, 66, Fill::other, "by several lanes, fetched once");
  svg.legend(x, 66, Fill::trouble, "in vain");
  svg.text(
      24, 90,
      text::printed(
          "A box is a sector: %d bytes, %s floats, the least that memory moves. Below it stand the "
          "lanes that ask for it.",
          block.warp.sector_bytes, block.warp.sector_words() == 8 ? "eight" : "four"),
      {.small = true, .faint = true});
  double y = 124;
  for (const std::size_t r : chosen) {
    y = draw_request(svg, y, block.requests[r], sectors_of(block, r));
  }
  picture.svg = svg.file(y - 12);
  return picture;
}

}  // namespace pictures
