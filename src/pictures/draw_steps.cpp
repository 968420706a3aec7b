#include <algorithm>

#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "pictures/warp_steps.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 90, kWide = 684, kHigh = 24;

// From left to right, as far as there is room.
struct Time {
  double first, scale;  // cycles; px per cycle
  double x(double cycles) const { return kLeft + std::clamp((cycles - first) * scale, 0.0, kWide); }
};

struct Steps {
  const TracedStage* stage;
  StepPlan plan;
  std::vector<StepTime> times;
};

// The part of the time in which the warp multiplies, far from its first and last step.
double multiplying(const Steps& steps) {
  const std::size_t middle = steps.times.size() / 2;
  const StepTime &one = steps.times[middle], &next = steps.times[middle + 1];
  return (one.multiply_end - one.multiply_begin) / (next.multiply_end - one.multiply_end);
}

void bar(
    Svg& svg, const Time& time, double from, double to, double y, Fill fill,
    const std::string& words) {
  const double x = time.x(from), width = time.x(to) - x;
  if (width < 1) return;
  svg.rect(x, y, width, kHigh, fill);
  if (text_width(words, {.small = true}) + 2 > width) return;
  svg.text(
      x + width / 2, y + kHigh / 2 + 4.5, words,
      {.anchor = Anchor::middle, .small = true, .on_fill = true});
}

// Returns the y below.
double draw_warp(Svg& svg, double y, const Steps& steps, const Time& time) {
  const int BK = steps.stage->variant->BK;
  svg.text(
      24, y,
      text::printed("Stage %d: the warp multiplies ", steps.stage->stage->number) +
          text::printed("%.0f %% of the time", 100 * multiplying(steps)),
      {.bold = true});
  y += 18;
  svg.text(24, y + 16, "loads", {.small = true});
  svg.text(24, y + kHigh + 16, "multiplies", {.small = true});
  svg.rect(kLeft, y, kWide, 2 * kHigh, Fill::paper);
  for (std::size_t i = 0; i < steps.times.size(); ++i) {
    const StepTime& one = steps.times[i];
    const int k = steps.plan.steps[i].k % BK;
    bar(svg, time, one.load_begin, one.load_end, y, Fill::warp, text::printed("%d", k));
    bar(svg, time, one.multiply_begin, one.multiply_end, y + kHigh, Fill::one,
        text::printed("step %d", k));
    const bool behind_barrier = i > 0 && steps.plan.steps[i].epoch != steps.plan.steps[i - 1].epoch;
    const double at = time.x(one.load_begin);
    if (!behind_barrier || at <= kLeft || at >= kLeft + kWide) continue;
    svg.line(at, y - 6, at, y + 2 * kHigh + 6, "thick");
  }
  return y + 2 * kHigh + 38;
}

double ticks(Svg& svg, double y, const Time& time) {
  constexpr int kStep = 200;
  svg.line(kLeft, y, kLeft + kWide, y, "thin");
  for (int cycles = 0; cycles * time.scale < kWide; cycles += kStep) {
    const double x = time.x(time.first + cycles);
    svg.line(x, y, x, y + 5, "thin");
    svg.text(x, y + 18, text::grouped(cycles), {.anchor = Anchor::middle, .small = true});
  }
  svg.text(24, y + 18, "cycles", {.small = true});
  return y + 46;
}

}  // namespace

Drawing draw_steps(
    const TracedStage& before, const TracedStage& after, const model::Gpu& gpu,
    double load_cycles) {
  // A scheduler issues an FMA of a warp whenever its lanes are free.
  const int lanes = gpu.fp32_lanes_per_sm / gpu.sub_partitions_per_sm;
  const auto steps_of = [&](const TracedStage& stage) {
    const double multiply =
        static_cast<double>(stage.variant->TM) * stage.variant->TN * gpu.warp.lanes / lanes;
    StepPlan plan = step_plan(stage);
    std::vector<StepTime> times = step_times(plan, load_cycles, multiply);
    return Steps{&stage, std::move(plan), std::move(times)};
  };
  const Steps old_steps = steps_of(before), steps = steps_of(after);
  const StepTime& one = old_steps.times[0];
  const std::string finding =
      text::printed(
          "For each step of k a warp of stage %d issues %d loads from shared memory, waits %.0f "
          "cycles for all of them, and then multiplies for %.0f cycles: alone on its scheduler it "
          "multiplies %.0f %% of the time. ",
          before.stage->number, old_steps.plan.steps[0].loads, one.load_end - one.load_begin,
          one.multiply_end - one.multiply_begin, 100 * multiplying(old_steps)) +
      text::printed(
          "In stage %d it issues the loads %d step of k earlier, so they arrive while it "
          "multiplies. A tile's first step arrives while the last step of the tile before is "
          "multiplied. The warp multiplies %.0f %% of the time.",
          after.stage->number, steps.plan.ahead, 100 * multiplying(steps));
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "the step's floats of A and B are on their way");
  x = svg.legend(x, 66, Fill::one, "the step is multiplied");
  svg.line(x + 8, 54, x + 8, 70, "thick");
  svg.text(x + 18, 66, "a barrier", {.small = true});
  svg.text(
      24, 90,
      text::printed(
          "Steps of k in their tile, from 0 to %d. The order of the loads and the barriers are as "
          "traced.",
          after.variant->BK - 1),
      {.small = true, .faint = true});
  // From two steps before the end of a tile far from the first.
  constexpr double kStepsShown = 6;
  const double scale = kWide / (kStepsShown * (one.multiply_end - one.load_begin));
  const int tile = static_cast<int>(steps.times.size()) / after.variant->BK / 2;
  const int first = tile * after.variant->BK - 2;
  double y = 122;
  for (const Steps* each : {&old_steps, &steps}) {
    // The picture begins where the shown step is asked for or multiplied.
    const double begin =
        each->plan.ahead > 0 ? each->times[first].multiply_begin : each->times[first].load_begin;
    y = draw_warp(svg, y, *each, {begin, scale});
  }
  y = ticks(svg, y - 20, {0, scale});
  y = svg.paragraph(24, y, finding, 752);
  y = svg.paragraph(
      24, y + 6,
      text::printed(
          "A load takes %.0f cycles and each further wavefront one more; an FMA takes a cycle of "
          "the scheduler. On the GPU another warp of the same scheduler multiplies in some of the "
          "gaps, and the compiler may move loads within a tile.",
          load_cycles),
      752, {.small = true, .faint = true});
  return {finding, svg.elements(), y + 4};
}

}  // namespace pictures
