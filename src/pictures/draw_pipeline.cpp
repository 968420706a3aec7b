#include <algorithm>
#include <cmath>

#include "pictures/pace.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 90, kWide = 684;

std::string blocks_text(int blocks) {
  return blocks == 1 ? "one block on an SM" : text::printed("%d blocks on an SM", blocks);
}

std::string percent(double share) {
  return text::printed("%.0f %%", 100 * share);
}

// Time from left to right, as far as there is room.
struct Time {
  double scale;  // px per cycle
  double x(double cycles) const { return kLeft + std::min(cycles * scale, kWide); }
  bool shows(double cycles) const { return cycles * scale < kWide; }
};

void bar(
    Svg& svg, const Time& time, double from, double to, double y, double high, Fill fill,
    const std::string& words) {
  if (!time.shows(from) || to - from < 0.5 / time.scale) return;
  const double x = time.x(from), width = time.x(to) - x;
  svg.rect(x, y, width, high, fill);
  if (high < 16 || text_width(words, {.small = true}) > width) return;
  svg.text(
      x + width / 2, y + high / 2 + 4.5, words,
      {.anchor = Anchor::middle, .small = true, .on_fill = true});
}

// A row for each place in shared memory, of each block; returns the y below.
double draw_blocks(
    Svg& svg, double y, const Time& time, const std::string& name, const PacedStage& stage,
    int blocks, double high) {
  const std::vector<Work> work = schedule(stage.plan, stage.pace, blocks);
  svg.text(
      24, y,
      name + ", " + blocks_text(blocks) + ": the SM multiplies " + percent(multiplying(work)) +
          " of the time",
      {.bold = true});
  y += 12;
  const double top = y;
  for (int block = 0; block < blocks; ++block) {
    const double of_block = high * stage.plan.places;
    svg.text(24, y + of_block / 2 + 4.5, text::printed("block %d", block), {.small = true});
    svg.rect(kLeft, y, kWide, of_block, Fill::paper);
    for (const Work& one : work) {
      if (one.block != block) continue;
      const double at = y + stage.plan.tiles[one.tile].place * high;
      const auto words = [&](const char* what) { return text::printed("%s %d", what, one.tile); };
      bar(svg, time, one.copy_begin, one.copy_end, at, high, Fill::warp, words("copy"));
      bar(svg, time, one.copy_end, one.multiply_begin, at, high, Fill::waiting, words("wait"));
      bar(svg, time, one.multiply_begin, one.multiply_end, at, high, Fill::one, words("multiply"));
    }
    y += of_block;
    svg.line(kLeft, y, kLeft + kWide, y, "thin");
  }
  if (blocks > 1) return y + 36;
  // A block that waits for its copies comes to a barrier after each; every block after each tile.
  for (const Work& one : work) {
    for (const double end : {one.copy_end, one.multiply_end}) {
      if (end == one.copy_end && !stage.plan.copies_wait) continue;
      if (!time.shows(end)) continue;
      svg.line(time.x(end), top - 7, time.x(end), top, "thick");
      svg.line(time.x(end), y, time.x(end), y + 7, "thick");
    }
  }
  return y + 36;
}

double ticks(Svg& svg, double y, const Time& time) {
  constexpr int kStep = 1000;
  svg.line(kLeft, y, kLeft + kWide, y, "thin");
  for (int cycles = 0; time.shows(cycles); cycles += kStep) {
    svg.line(time.x(cycles), y, time.x(cycles), y + 5, "thin");
    svg.text(
        time.x(cycles), y + 18, text::grouped(cycles), {.anchor = Anchor::middle, .small = true});
  }
  svg.text(24, y + 18, "cycles", {.small = true});
  return y + 44;
}

std::string finding_of(
    const PacedStage& before, const PacedStage& after, const RecordedLadder& measured) {
  const auto share = [](const PacedStage& stage, int blocks) {
    return percent(multiplying(schedule(stage.plan, stage.pace, blocks)));
  };
  const int old_number = before.stage->number, number = after.stage->number;
  return text::printed(
             "By the ceiling model, an SM needs %.0f cycles to copy a tile of stage %d and ",
             before.pace.copy, old_number) +
         text::grouped(std::lround(before.pace.multiply)) + " to multiply it. " +
         text::printed("With one block of stage %d it multiplies ", old_number) + share(before, 1) +
         text::printed(" of the time, with the %d that fit on it ", before.pace.blocks_per_sm) +
         share(before, before.pace.blocks_per_sm) +
         text::printed(
             ", because one copies while another multiplies. A block of stage %d copies up to %d "
             "tiles ahead: one block is enough for ",
             number, after.plan.most_ahead()) +
         share(after, 1) +
         ". The model knows no latency and no waiting at barriers, so its ceilings are " +
         text::significant(before.pace.ceiling_tflops) + " and " +
         text::significant(after.pace.ceiling_tflops) +
         text::printed(" TFLOP/s; measured, stage %d is ", number) +
         text::brief(measured.of(number).tflops / measured.of(old_number).tflops) +
         " times as fast.";
}

}  // namespace

Drawing draw_pipeline(
    const PacedStage& before, const PacedStage& after, const RecordedLadder& measured) {
  const std::string finding = finding_of(before, after, measured);
  constexpr double kTilesShown = 3.5;  // of one block of the stage before
  const Time time{kWide / (kTilesShown * (before.pace.copy + before.pace.multiply))};
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "a tile is copied");
  x = svg.legend(x, 66, Fill::waiting, "it is there, and waits");
  x = svg.legend(x, 66, Fill::one, "it is multiplied");
  svg.line(x + 8, 56, x + 8, 63, "thick");
  svg.text(x + 18, 66, "a barrier", {.small = true});
  svg.text(
      24, 90,
      "A row is a place for a tile in shared memory. Lengths are the ceiling model's, for 4096 × "
      "4096 × 4096 on an H200.",
      {.small = true, .faint = true});
  double y = 122;
  for (const PacedStage* stage : {&before, &after}) {
    const std::string name = text::printed("Stage %d", stage->stage->number);
    const bool several_places = stage->plan.places > 1;
    y = draw_blocks(svg, y, time, name, *stage, 1, several_places ? 20 : 26);
    if (stage->pace.blocks_per_sm == 1) continue;
    y = draw_blocks(
        svg, y, time, name, *stage, stage->pace.blocks_per_sm, several_places ? 12 : 20);
  }
  y = ticks(svg, y - 16, time);
  y = svg.paragraph(24, y, finding, 752);
  return {finding, svg.elements(), y + 4};
}

}  // namespace pictures
