#include <algorithm>

#include "model/gpus.h"
#include "pictures/pictures.h"
#include "pictures/staircase.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

// The recordings at other sizes are marks on the bars: those at smaller sizes diamonds, those at
// larger ones circles.
void mark(Svg& svg, double x, double y, bool smaller) {
  constexpr double kRadius = 5;
  if (smaller) {
    svg.diamond(x, y, kRadius + 1, Fill::waiting);
  } else {
    svg.circle(x, y, kRadius, Fill::one);
  }
}

}  // namespace

Picture draw_staircase(
    std::span<const model::Stage> all_stages, const std::vector<RecordedLadder>& runs) {
  const RecordedLadder& run = main_run(runs);
  const model::Gpu& gpu = *model::find_gpu("H200");
  const Staircase staircase = staircase_of(all_stages, run, gpu);
  const std::vector<Stair>& stairs = staircase.stairs;
  constexpr double kLeft = 204, kRight = 716, kHigh = 22, kStep = 34;
  const double cublas = staircase.cublas_tflops;
  double most = cublas;
  for (const RecordedLadder& other : runs) {
    for (const RecordedSpeed& speed : other.speeds) most = std::max(most, speed.tflops);
  }
  bool has_roof = false;
  for (const Stair& stair : stairs) {
    most = std::max(most, stair.roof_tflops);
    has_roof |= stair.roof_tflops > 0;
  }
  const double scale = (kRight - kLeft) / most;
  const Stair& last = stairs.back();
  const Stair& first = *std::find_if(
      stairs.begin(), stairs.end(), [](const Stair& stair) { return runs_on_gpu(*stair.stage); });
  const std::string finding =
      text::printed(
          "On an H200 at %d × %d × %d the stages climb from ", run.size, run.size, run.size) +
      text::significant(first.tflops) +
      text::printed(" TFLOP/s (stage %d) to ", first.stage->number) +
      text::significant(last.tflops) + text::printed(" TFLOP/s (stage %d): ", last.stage->number) +
      text::brief(last.cublas_percent) + " % of cuBLAS, which reaches " +
      text::significant(cublas) + " TFLOP/s.";
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, text::printed("recorded at %d", run.size));
  for (const RecordedLadder& other : runs) {
    if (other.size == run.size) continue;
    mark(svg, x + 8, 61, other.size < run.size);
    svg.text(x + 20, 66, text::printed("at %d", other.size), {.small = true});
    x += 84;
  }
  svg.line(x + 8, 61, x + 32, 61, "dashed");
  svg.text(x + 38, 66, "cuBLAS fp32", {.small = true});
  if (has_roof) {
    x += 120;
    svg.line(x + 8, 54, x + 8, 70, "thick");
    svg.text(x + 16, 66, "tensor cores' roof", {.small = true});
  }
  double y = 92;
  const double top = y - 8, line = kLeft + cublas * scale;
  for (const Stair& stair : stairs) {
    const model::Stage* const stage = stair.stage;
    const double speed = stair.tflops;
    svg.text(
        kLeft - 10, y + 16, text::printed("%d %s", stage->number, stage->name),
        {.anchor = Anchor::end});
    svg.rect(kLeft, y, std::max(speed * scale, 0.5), kHigh, Fill::warp);
    double label = kLeft + speed * scale;
    for (const RecordedLadder& other : runs) {
      const double there = other.of(stage->number).tflops, at = kLeft + there * scale;
      if (other.size == run.size || there == 0 || !runs_on_gpu(*stage)) continue;
      mark(svg, at, y + kHigh / 2, other.size < run.size);
      label = std::max(label, at + 6);
    }
    if (const double roof = kLeft + stair.roof_tflops * scale; roof > kLeft) {
      svg.line(roof, y - 3, roof, y + kHigh + 3, "thick");
      label = std::max(label, roof);
    }
    std::string text = speed < 0.01 ? text::printed("%.4f", speed) : text::significant(speed);
    if (stair.times_before > 0) text += "  (× " + text::brief(stair.times_before) + ")";
    // Right of the bar, or in it where it would come to cuBLAS's line.
    const bool inside = label + 8 + text_width(text) > line;
    svg.text(inside ? kLeft + 12 : label + 8, y + 16, text, {.on_fill = inside});
    y += kStep;
  }
  svg.line(line, top, line, y, "dashed");
  svg.text(line, y + 16, text::significant(cublas), {.anchor = Anchor::middle, .small = true});
  svg.line(kLeft, top, kLeft, y, "thin");
  y = svg.paragraph(24, y + 46, finding + " In brackets: times the stage before.", 752);
  return {
      "staircase",
      text::printed(
          "The staircase: TFLOP/s of each stage on an H200, %d × %d × %d", run.size, run.size,
          run.size),
      {finding, svg.elements(), y + 4}};
}

}  // namespace pictures
