#include <algorithm>
#include <bit>
#include <map>

#include "lab/worst_line.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "report/annotated.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr int kWords = 8;  // of a sector
constexpr double kLeft = 24, kCell = 11, kGap = 6, kHigh = 18;
constexpr int kSectorsAcross = 8;

using Sectors = std::map<std::uint64_t, std::array<std::uint32_t, kWords>>;  // lanes of each word

Sectors sectors_of(const model::WarpAccess& access) {
  Sectors sectors;
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    if (!is_active(access, lane)) continue;
    for (int w = 0; w < std::max(access.bytes, 4) / 4; ++w) {
      const std::uint64_t word = access.address[lane] / 4 + w;
      sectors[word / kWords][word % kWords] |= 1u << lane;
    }
  }
  return sectors;
}

int used_bytes(const Sectors& sectors) {
  int words = 0;
  for (const auto& [number, lanes] : sectors) {
    words +=
        static_cast<int>(std::count_if(lanes.begin(), lanes.end(), [](auto l) { return l != 0; }));
  }
  return 4 * words;
}

std::string summary(const Request& request, const Sectors& sectors) {
  const int needed = (used_bytes(sectors) + 31) / 32;
  const int touched = static_cast<int>(sectors.size());
  return request.array + ", " + lab::name_of(request.direction) +
         text::printed(
             " of %d bytes a lane: %d sector%s, ", request.access.bytes, touched,
             touched == 1 ? "" : "s") +
         (touched > needed ? text::printed("where %d would do", needed) : "no fewer would do");
}

// The first request of the shown warp for each array and direction.
std::vector<const Request*> typical(const Story& story) {
  std::vector<const Request*> chosen;
  for (const Request& request : story.requests) {
    if (request.shared) continue;
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const Request* other) {
      return other->array == request.array && other->direction == request.direction;
    });
    if (!known) chosen.push_back(&request);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Request* a, const Request* b) {
    return a->array < b->array;
  });
  return chosen;
}

double draw_request(Svg& svg, double y, const Request& request) {
  const Sectors sectors = sectors_of(request.access);
  const bool in_vain = 32 * static_cast<int>(sectors.size()) >= used_bytes(sectors) + 32;
  svg.text(kLeft, y, summary(request, sectors), {.bold = true});
  y += 12;
  int at = 0;
  for (const auto& [number, words] : sectors) {
    const double x = kLeft + at % kSectorsAcross * (kWords * kCell + kGap);
    if (at > 0 && at % kSectorsAcross == 0) y += kHigh + 24;
    std::uint32_t lanes = 0;
    for (int w = 0; w < kWords;) {  // neighbours that are alike as one
      int last = w;
      while (last < kWords && (words[last] != 0) == (words[w] != 0)) ++last;
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
          for (int w = 1; w < kWords; ++w)
            d += "M" + pixels(x + w * kCell) + " " + pixels(y) + "v" + pixels(kHigh);
          return d;
        }(),
        "hair");
    for (const std::uint32_t w : words) lanes |= w;
    svg.text(
        x + kWords * kCell / 2, y + kHigh + 14,
        (std::popcount(lanes) == 1 ? "lane " : "lanes ") + lanes_text(lanes),
        {.anchor = Anchor::middle, .small = true});
    ++at;
  }
  return y + kHigh + 44;
}

}  // namespace

Picture draw_coalescing(const StageStory& stage) {
  return draw_coalescing(
      text::printed("stage%d-coalescing", stage.stage->number),
      text::printed("Stage %d, %s", stage.stage->number, stage.stage->name), stage.story);
}

Picture draw_coalescing(const std::string& file, const std::string& name, const Story& story) {
  Picture picture;
  picture.name = file;
  const std::vector<const Request*> chosen = typical(story);
  for (const Request* request : chosen) {
    picture.finding += (picture.finding.empty() ? "One request of a warp each. " : " ") +
                       summary(*request, sectors_of(request->access)) + ".";
  }
  Svg svg(name + ": what a warp asks of global memory", picture.finding);
  double x = svg.legend(24, 66, Fill::warp, "asked for by one lane");
  x = svg.legend(x, 66, Fill::other, "by several lanes, fetched once");
  svg.legend(x, 66, Fill::trouble, "in vain");
  svg.text(
      24, 90,
      "A box is a sector: 32 bytes, eight floats, the least that memory moves. Below it stand "
      "the lanes that ask for it.",
      {.small = true, .faint = true});
  double y = 124;
  for (const Request* request : chosen) y = draw_request(svg, y, *request);
  picture.svg = svg.file(y - 12);
  return picture;
}

}  // namespace pictures
