#include <algorithm>

#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "pictures/warp_times.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 90, kWide = 684;

// Time from left to right: what of it is drawn, and where.
struct Window {
  double last;     // cycles
  double y, high;  // px, of a warp's row
  double x(double cycles) const { return kLeft + std::min(cycles / last, 1.0) * kWide; }
};

void draw_part(
    Svg& svg, const Window& window, int warp, double from, double to, Fill fill,
    const std::string& words) {
  if (from >= window.last || to <= from) return;
  const double x = window.x(from), width = window.x(to) - x, y = window.y + warp * window.high;
  if (width < 0.3) return;
  svg.rect(x, y, width, window.high, fill);
  if (window.high < 16 || text_width(words, {.small = true}) + 2 > width) return;
  svg.text(
      x + width / 2, y + window.high / 2 + 4.5, words,
      {.anchor = Anchor::middle, .small = true, .on_fill = true});
}

void draw_spans(
    Svg& svg, const Window& window, const std::vector<WarpSpan>& spans,
    const std::string& multiply) {
  for (const WarpSpan& s : spans) {
    const double multiply_from = s.stored;
    draw_part(svg, window, s.warp, s.begin, s.loaded, Fill::warp, "load");
    draw_part(svg, window, s.warp, s.stores_C ? s.begin : s.loaded, s.stored, Fill::other, "store");
    draw_part(svg, window, s.warp, multiply_from, s.multiplied, Fill::one, multiply);
    draw_part(svg, window, s.warp, s.multiplied, s.end, Fill::waiting, "wait");
  }
}

// Floats that one thread moves between two barriers; of the first warp.
struct PerThread {
  int loaded = 0, stored = 0, read = 0;
};

PerThread per_thread(const BlockRequests& block, int span) {
  PerThread floats;
  for (const Request& request : block.requests) {
    if (request.epoch != span || request.warp != 0) continue;
    const int words = request.access.bytes / model::kWordBytes;
    const bool loads = request.direction == model::Direction::load;
    if (!request.shared && loads) floats.loaded += words;
    if (request.shared && loads) floats.read += words;
    if (request.shared && !loads) floats.stored += words;
  }
  return floats;
}

}  // namespace

Picture draw_block_life(const TracedStage& stage, const Pace& pace) {
  const std::vector<WarpSpan> spans = warp_times(stage, pace);
  const BlockRequests& block = stage.block;
  const int BK = stage.variant->BK, tiles = block.K / BK;
  const int multiply_adds = stage.variant->TM * stage.variant->TN * BK;
  const auto multiplies =
      std::find_if(spans.begin(), spans.end(), [](const WarpSpan& s) { return s.reads_tiles; });
  const PerThread copied = per_thread(block, spans.front().span),
                  read = per_thread(block, multiplies->span);
  const std::string finding = text::printed(
      "A block of stage %d goes through the same steps for each of its %d tiles along K. Each "
      "thread loads %d floats of A and B from global memory and stores them to shared memory. "
      "All warps wait at a barrier for the last one. Each thread reads %d floats from shared "
      "memory for %s multiply-adds. A second barrier keeps the tile until every warp is done "
      "with it. At the end the block stores its part of C.",
      stage.stage->number, tiles, copied.loaded, read.read, text::grouped(multiply_adds).c_str());

  const int warps = spans.back().warp + 1;
  const double round_end = std::find_if(multiplies, spans.end(), [&](const WarpSpan& s) {
                             return s.span != multiplies->span;
                           })->begin;
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "loads from global memory");
  x = svg.legend(x, 66, Fill::other, "stores");
  x = svg.legend(x, 66, Fill::waiting, "waits at the barrier");
  x = svg.legend(x, 66, Fill::one, "multiplies");
  svg.line(x + 8, 54, x + 8, 70, "thick");
  svg.text(x + 18, 66, "a barrier", {.small = true});

  const double end = std::max_element(spans.begin(), spans.end(), [](auto& a, auto& b) {
                       return a.end < b.end;
                     })->end;
  const Window whole{end, 108, 12}, first{1.5 * round_end, whole.y + warps * 12 + 62, 28};
  svg.text(
      24, 96, text::printed("The whole life: K = %d in %d tiles, then C", block.K, tiles),
      {.bold = true});
  svg.text(24, whole.y + warps * 6 + 4.5, text::printed("%d warps", warps), {.small = true});
  draw_spans(svg, whole, spans, "");
  svg.rect(kLeft, whole.y - 3, whole.x(first.last) - kLeft, warps * whole.high + 6, Fill::outline);
  const double below = whole.y + warps * whole.high + 3;
  svg.line(kLeft, below, kLeft, first.y, "thin");
  svg.line(whole.x(first.last), below, kLeft + kWide, first.y, "thin");

  svg.text(24, first.y - 14, "Start", {.bold = true});
  for (int warp = 0; warp < warps; ++warp) {
    svg.text(24, first.y + warp * first.high + 18, text::printed("warp %d", warp), {.small = true});
  }
  draw_spans(
      svg, first, spans,
      text::printed("multiply: %d steps of k, ", BK) + text::grouped(multiply_adds) +
          " multiply-adds per thread");
  const double bottom = first.y + warps * first.high;
  for (const WarpSpan& s : spans) {
    if (s.warp > 0 || s.end >= first.last) continue;
    svg.line(first.x(s.end), first.y - 6, first.x(s.end), bottom + 6, "thick");
  }
  svg.line(kLeft, bottom + 12, kLeft + kWide, bottom + 12, "thin");
  svg.text(24, bottom + 30, "cycles", {.small = true});
  for (int cycles = 0; cycles < first.last; cycles += 500) {
    svg.line(first.x(cycles), bottom + 12, first.x(cycles), bottom + 17, "thin");
    svg.text(
        first.x(cycles), bottom + 30, text::grouped(cycles),
        {.anchor = Anchor::middle, .small = true});
  }
  double y = svg.paragraph(24, bottom + 62, finding, 752);
  y = svg.paragraph(
      24, y + 6,
      "Lengths are the ceiling model's, for one block on an SM of an H200: what L2, shared memory "
      "and the multipliers can do. The warps load one after the other, so the first of them waits "
      "longest. Latency is left out.",
      752, {.small = true, .faint = true});
  return {
      "block-life",
      text::printed(
          "A block's life, as in stage %d: load, barrier, multiply, barrier", stage.stage->number),
      {finding, svg.elements(), y + 4}};
}

}  // namespace pictures
