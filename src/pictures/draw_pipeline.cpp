#include <algorithm>
#include <map>
#include <set>

#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 90, kHigh = 34;
constexpr int kSpans = 9;  // that are shown
constexpr double kWide = 76;

// When one tile of A came to shared memory and when it was multiplied, in spans between barriers.
struct Stay {
  int place;  // in shared memory, from 0
  int copied;
  int first_read, last_read;
};

struct Timeline {
  std::vector<Stay> tiles;  // by number
  int places = 0;
  int barriers = 0;
  bool in_flight(const Stay& stay, int span) const {
    return stay.copied < span && span < stay.first_read;
  }
};

Timeline timeline(const TracedStage& stage) {
  Timeline result;
  std::map<int, Stay> tiles;
  std::map<std::uint64_t, int> places;  // by the lowest address of a tile of A
  std::map<int, std::uint64_t> lowest;
  const BlockRequests& block = stage.block;
  const int BK = stage.variant->BK;
  const auto seen_in_shared = [&](int tile, const Request& request, int lane, int epoch) {
    tiles.try_emplace(tile, Stay{0, epoch, 1 << 30, -1});
    const auto at = lowest.try_emplace(tile, ~std::uint64_t{0}).first;
    at->second = std::min(at->second, request.access.address[lane]);
  };
  for (const Moved& moved : elements_moved(block)) {
    const Request& request = block.requests[moved.request];
    const Element& e = moved.elements[0];
    if (e.matrix != 'A') continue;
    const int lane = block.warp.lane_of(moved.thread), tile = e.col / BK;
    if (request.direction == model::Direction::copy) {
      seen_in_shared(tile, block.requests[moved.request - 1], lane, request.epoch);
    } else if (request.shared && request.direction == model::Direction::store) {
      seen_in_shared(tile, request, lane, request.epoch);
    } else if (request.shared) {
      Stay& stay = tiles.at(tile);
      stay.first_read = std::min(stay.first_read, request.epoch);
      stay.last_read = std::max(stay.last_read, request.epoch);
    }
  }
  for (auto& [tile, stay] : tiles) {
    const auto place = places.try_emplace(lowest[tile], static_cast<int>(places.size())).first;
    stay.place = place->second;
    result.tiles.push_back(stay);
  }
  result.places = static_cast<int>(places.size());
  for (const Request& request : block.requests) {
    result.barriers = std::max(result.barriers, request.epoch);
  }
  return result;
}

int most_in_flight(const Timeline& timeline) {
  int most = 0;
  for (int span = 0; span <= timeline.barriers; ++span) {
    most = std::max(
        most, static_cast<int>(std::count_if(
                  timeline.tiles.begin(), timeline.tiles.end(),
                  [&](const Stay& s) { return s.copied <= span && span < s.first_read; })));
  }
  return most;
}

int both_at_once(const Timeline& timeline) {
  int spans = 0;
  for (int span = 0; span <= timeline.barriers; ++span) {
    bool copies = false, multiplies = false;
    for (const Stay& s : timeline.tiles) {
      copies |= s.copied == span;
      multiplies |= s.first_read <= span && span <= s.last_read;
    }
    spans += copies && multiplies;
  }
  return spans;
}

std::string summary(const TracedStage& stage, const Timeline& t) {
  const int both = both_at_once(t);
  return text::printed(
             "Stage %d has room for %d tile%s and comes to %d barriers for %zu tiles; ",
             stage.stage->number, t.places, t.places == 1 ? "" : "s", t.barriers, t.tiles.size()) +
         (both == 0 ? "between two of them it copies or multiplies, never both."
                    : text::printed("between %d pairs of them it copies and multiplies.", both));
}

double draw(Svg& svg, double y, const TracedStage& stage, const Timeline& t) {
  svg.text(
      24, y, text::printed("Stage %d, %s", stage.stage->number, stage.stage->name), {.bold = true});
  y += 12;
  for (int place = 0; place < t.places; ++place) {
    svg.text(24, y + 22, text::printed("place %d", place), {.small = true});
    svg.rect(kLeft, y, kSpans * kWide, kHigh, Fill::paper);
    for (std::size_t tile = 0; tile < t.tiles.size(); ++tile) {
      const Stay& stay = t.tiles[tile];
      if (stay.place != place) continue;
      for (int span = stay.copied; span <= stay.last_read && span < kSpans; ++span) {
        const bool read = stay.first_read <= span;
        const double x = kLeft + span * kWide;
        svg.rect(
            x, y, kWide, kHigh,
            read                  ? Fill::one
            : span == stay.copied ? Fill::warp
                                  : Fill::waiting);
        svg.text(
            x + kWide / 2, y + 22,
            (read                  ? "multiply "
             : span == stay.copied ? "copy "
                                   : "wait ") +
                text::printed("%zu", tile),
            {.anchor = Anchor::middle, .small = true, .on_fill = true});
      }
    }
    y += kHigh;
  }
  for (int span = 1; span < kSpans && span <= t.barriers; ++span) {
    svg.line(kLeft + span * kWide, y - t.places * kHigh - 6, kLeft + span * kWide, y + 6, "thick");
  }
  return y + 40;
}

}  // namespace

Picture draw_pipeline(const TracedStage& before, const TracedStage& after) {
  const Timeline old_way = timeline(before), new_way = timeline(after);
  Picture picture;
  picture.name = text::printed("stage%d-pipeline", after.stage->number);
  picture.finding = summary(before, old_way) + " " + summary(after, new_way) +
                    text::printed(
                        " Up to %d tiles are there ahead of their turn, or on their way.",
                        most_in_flight(new_way));
  Svg svg(
      text::printed(
          "Stage %d, %s: copying while multiplying", after.stage->number, after.stage->name),
      picture.finding);
  double x = svg.legend(24, 66, Fill::warp, "tile is copied");
  x = svg.legend(x, 66, Fill::waiting, "on its way, or there and not needed yet");
  x = svg.legend(x, 66, Fill::one, "is multiplied");
  svg.line(x + 8, 54, x + 8, 70, "thick");
  svg.text(x + 18, 66, "a barrier", {.small = true});
  double y = draw(svg, 108, before, old_way);
  y = draw(svg, y, after, new_way);
  svg.text(
      24, y - 8,
      "Places in shared memory over time, from left to right: a column is what happens between "
      "two barriers.",
      {.small = true, .faint = true});
  y = svg.paragraph(24, y + 18, picture.finding, 100);
  picture.svg = svg.file(y + 4);
  return picture;
}

}  // namespace pictures
