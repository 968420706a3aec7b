#include <algorithm>
#include <cmath>

#include "pictures/ring.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 132, kWide = 644, kHigh = 22;

struct Time {
  double scale;  // px per cycle
  double x(double cycles) const { return kLeft + std::min(cycles * scale, kWide); }
};

void bar(
    Svg& svg, const Time& time, double from, double to, double y, Fill fill,
    const std::string& words = "") {
  const double x = time.x(from), width = time.x(to) - x;
  if (width < 0.5) return;
  svg.rect(x, y, width, kHigh, fill);
  if (words.empty() || text_width(words, {.small = true}) > width) return;
  svg.text(
      x + width / 2, y + kHigh / 2 + 4.5, words,
      {.anchor = Anchor::middle, .small = true, .on_fill = true});
}

std::string k_tile(std::size_t tile) {
  return text::printed("k %zu", tile);
}

double multiply_begin(const RingTile& tile) {
  double begin = tile.uses.at(0).multiply_begin;
  for (const Use& use : tile.uses) begin = std::min(begin, use.multiply_begin);
  return begin;
}

double multiply_end(const RingTile& tile) {
  double end = 0;
  for (const Use& use : tile.uses) end = std::max(end, use.multiply_end);
  return end;
}

double released(const RingTile& tile) {
  double at = 0;
  for (const Use& use : tile.uses) at = std::max(at, use.released);
  return at;
}

void name(Svg& svg, double y, const std::string& words) {
  svg.text(24, y + kHigh / 2 + 4.5, words, {.small = true});
  svg.rect(kLeft, y, kWide, kHigh, Fill::paper);
}

// A row for each place; returns the y below.
double draw_places(Svg& svg, double y, const Time& time, const Ring& ring) {
  for (int place = 0; place < ring.places; ++place) {
    name(svg, y + place * kHigh, text::printed("place %d", place));
  }
  for (std::size_t k = 0; k < ring.tiles.size(); ++k) {
    const RingTile& tile = ring.tiles[k];
    const double at = y + tile.place * kHigh, begin = multiply_begin(tile);
    bar(svg, time, tile.copy_begin, tile.copy_end, at, Fill::warp, k_tile(k));
    bar(svg, time, tile.copy_end, begin, at, Fill::waiting);
    if (tile.split) bar(svg, time, tile.split->begin, tile.split->end, at, Fill::quiet, "low");
    bar(svg, time, begin, released(tile), at, Fill::one, text::printed("phase %u", tile.phase));
  }
  return y + ring.places * kHigh;
}

// A row for each that works; returns the y below.
double draw_workers(Svg& svg, double y, const Time& time, const Ring& ring) {
  const auto row = [&](const std::string& words, const auto& draw) {
    name(svg, y, words);
    for (std::size_t k = 0; k < ring.tiles.size(); ++k) draw(ring.tiles[k], k);
    y += kHigh;
  };
  row("copying thread", [&](const RingTile& tile, std::size_t) {
    bar(svg, time, tile.asked, tile.granted, y, Fill::waiting);
  });
  row("copy engine", [&](const RingTile& tile, std::size_t k) {
    bar(svg, time, tile.copy_begin, tile.copy_end, y, Fill::warp, k_tile(k));
  });
  if (ring.tiles.at(0).split) {
    row("splitting warps", [&](const RingTile& tile, std::size_t k) {
      bar(svg, time, tile.split->asked, tile.split->begin, y, Fill::waiting);
      bar(svg, time, tile.split->begin, tile.split->end, y, Fill::quiet, k_tile(k));
    });
  }
  for (std::size_t group = 0; group < ring.tiles.at(0).uses.size(); ++group) {
    row(text::printed("warpgroup %zu", group + 1), [&](const RingTile& tile, std::size_t) {
      const Use& use = tile.uses.at(group);
      bar(svg, time, use.asked, use.begin, y, Fill::waiting);
      bar(svg, time, use.begin, use.loaded, y, Fill::other);
    });
  }
  row("tensor cores", [&](const RingTile& tile, std::size_t k) {
    bar(svg, time, multiply_begin(tile), multiply_end(tile), y, Fill::one, k_tile(k));
  });
  return y;
}

double ticks(Svg& svg, double y, const Time& time, double last) {
  const int step = last > 10'000 ? 2000 : 1000;
  for (int cycles = 0; cycles <= last; cycles += step) {
    svg.line(time.x(cycles), y, time.x(cycles), y + 5, "thin");
    svg.text(
        time.x(cycles), y + 18, text::grouped(cycles), {.anchor = Anchor::middle, .small = true});
  }
  svg.text(24, y + 18, "cycles", {.small = true});
  return y + 44;
}

}  // namespace

Drawing draw_ring(const TracedStage& stage, const Pace& pace) {
  const Ring ring = ring_of(stage, pace);
  const auto again = static_cast<std::size_t>(ring.places);
  const RingTile& next = ring.tiles.at(again);
  const std::string how =
      next.split
          ? text::printed(
                "Warps make the low parts of a tile of A in %.0f cycles, and a warpgroup waits for "
                "these, too. ",
                next.split->end - next.split->begin)
          : text::printed(
                "One thread has the copy engine fill all places at once. For tile %zu it waits "
                "until both warpgroups have given back place %d, after ",
                again, next.place) +
                text::grouped(std::lround(next.granted)) +
                text::printed(
                    " cycles; all waits for that tile name phase %u instead of %u. A warpgroup "
                    "loads the fragments of a tile while the tile before is multiplied. ",
                    next.phase, ring.tiles.at(0).phase);
  const std::string finding =
      text::printed(
          "The ring of stage %d has %d places, and each tile along K takes %.0f cycles to copy "
          "and ",
          stage.stage->number, ring.places, pace.copy) +
      text::grouped(std::lround(pace.multiply)) + " to multiply. " + how +
      text::printed(
          "From the first multiplication on, the tensor cores work %.0f %% of the time.",
          100 * ring.multiplying);
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "copied");
  x = svg.legend(x, 66, Fill::one, "multiplied");
  x = svg.legend(x, 66, Fill::waiting, "waits");
  x = svg.legend(x, 66, Fill::other, "fragments of B are loaded");
  if (next.split) svg.legend(x, 66, Fill::quiet, "low parts of A are made");
  svg.text(
      24, 90,
      "The order, the waits and the bytes are as traced. Lengths are the ceiling model's, on an "
      "H200, without latencies.",
      {.small = true, .faint = true});
  const double last = released(ring.tiles.back());
  const Time time{kWide / last};
  svg.text(24, 118, "The ring in shared memory", {.bold = true});
  double y = draw_places(svg, 128, time, ring);
  svg.text(24, y + 28, "Who works when", {.bold = true});
  y = draw_workers(svg, y + 38, time, ring);
  y = ticks(svg, y, time, last);
  y = svg.paragraph(24, y, finding, 752);
  return {finding, svg.elements(), y + 4};
}

}  // namespace pictures
