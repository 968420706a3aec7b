#include <algorithm>
#include <cmath>

#include "pictures/pictures.h"
#include "pictures/roofline.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

// Between two powers of the base.
struct LogScale {
  double from, to, low, high;  // px, and what lies there
  double operator()(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
};

std::string finding_of(const std::vector<Dot>& dots, const Roof& dram, const model::Gpu& gpu) {
  const Dot &first = dots.front(), &last = dots.back();
  const double peak = peak_of(gpu, *last.row->variant).tflops;
  const bool tensor = last.row->variant->multiplier != model::Multiplier::ffma;
  std::vector<int> cached;  // stages that are faster than DRAM alone could feed them
  for (const Dot& dot : dots) {
    if (dot.tflops > dot.intensity * dram.tb_per_s) cached.push_back(dot.row->number);
  }
  std::string finding =
      text::printed(
          "From stage %d to stage %d the operations per byte asked of global memory rise from ",
          first.row->number, last.row->number) +
      text::significant(first.intensity) + " to " + text::significant(last.intensity) + ". From " +
      text::significant(peak / dram.tb_per_s) +
      text::printed(
          " operations per byte on, DRAM is no longer the limit. Stage %d reaches %.0f %% of the "
          "%s peak.",
          last.row->number, 100 * last.tflops / peak,
          tensor ? "tensor cores' (with its instruction)" : "multipliers'");
  if (!cached.empty()) {
    finding += cached.size() == 1 ? " Stage " : " Stages ";
    for (std::size_t i = 0; i < cached.size(); ++i) {
      finding += (i == 0 ? "" : i + 1 == cached.size() ? " and " : ", ");
      finding += text::printed("%d", cached[i]);
    }
    finding += cached.size() == 1 ? " lies" : " lie";
    finding += " above DRAM's roof, because caches answer most of what is asked.";
  }
  return finding;
}

// What the picture shows, in numbers. Returns where it ends.
double draw_table(
    Svg& svg, double y, const std::vector<Dot>& dots, const std::vector<Roof>& roofs,
    const std::vector<Peak>& peaks) {
  constexpr double kName = 524, kIntensity = 716, kSpeed = 776;
  const auto row = [&](const std::string& name, const std::string& value) {
    y += 24;
    svg.text(kName, y, name, {.small = true});
    svg.text(kSpeed, y, value, {.anchor = Anchor::end, .small = true});
  };
  svg.text(kName, y, "stage", {.bold = true, .small = true});
  svg.text(kIntensity, y, "op/byte", {.anchor = Anchor::end, .bold = true, .small = true});
  svg.text(kSpeed, y, "TFLOP/s", {.anchor = Anchor::end, .bold = true, .small = true});
  for (const Dot& dot : dots) {
    row(text::printed("%d %s", dot.row->number, dot.row->stage->name),
        text::significant(dot.tflops));
    svg.text(
        kIntensity, y, text::significant(dot.intensity), {.anchor = Anchor::end, .small = true});
  }
  y += 38;
  svg.text(kName, y, "roof", {.bold = true, .small = true});
  for (const Roof& roof : roofs) row(roof.name, text::significant(roof.tb_per_s) + " TB/s");
  for (const Peak& peak : peaks) row(peak.name, text::significant(peak.tflops) + " TFLOP/s");
  return y;
}

}  // namespace

Picture draw_roofline(const lab::Run& run, const RecordedLadder& measured) {
  constexpr double kLeft = 70, kRight = 492, kTop = 92, kBottom = 452;
  const model::Gpu& gpu = run.gpu;
  auto [roofs, peaks, dots] = roofline_of(run, measured);
  double peak = 0;  // the highest
  for (const Peak& other : peaks) peak = std::max(peak, other.tflops);
  const double high = peak < 100 ? 100 : 1000;  // the scales end there
  const LogScale x_of{kLeft, kRight, 0.03, high}, y_of{kBottom, kTop, 0.2, high};
  const std::string finding = finding_of(dots, roofs.back(), gpu);
  Svg svg;
  svg.text(24, 66, "TFLOP/s, recorded", {.small = true});
  for (double tick = 0.1; tick <= high * 1.01; tick *= 10) {
    svg.line(x_of(tick), kTop, x_of(tick), kBottom, "hair");
    svg.text(
        x_of(tick), kBottom + 16, text::exact(tick), {.anchor = Anchor::middle, .small = true});
    if (tick < 0.2) continue;
    svg.line(kLeft, y_of(tick), kRight, y_of(tick), "hair");
    svg.text(kLeft - 8, y_of(tick) + 4, text::exact(tick), {.anchor = Anchor::end, .small = true});
  }
  svg.text(
      (kLeft + kRight) / 2, kBottom + 36, "operations per byte asked of global memory, as traced",
      {.anchor = Anchor::middle, .small = true});
  for (const Roof& roof : roofs) {
    const double ridge = peak / roof.tb_per_s, low = std::max(0.03, 0.2 / roof.tb_per_s);
    svg.line(x_of(low), y_of(low * roof.tb_per_s), x_of(ridge), y_of(peak), "thick");
    // Roofs may lie close together: the highest is named above it, the others below.
    constexpr double kNamedAt = 2.3;  // TFLOP/s
    const bool below = &roof != &roofs.front();
    svg.text(
        x_of(kNamedAt / roof.tb_per_s) + (below ? 8 : -8), y_of(kNamedAt) + (below ? 8 : 0),
        roof.name, {.anchor = below ? Anchor::start : Anchor::end, .small = true});
  }
  for (const Peak& other : peaks) {
    const double y = y_of(other.tflops);
    svg.line(x_of(other.tflops / roofs[0].tb_per_s), y, kRight, y, "thick");
    const bool under_another = other.tflops < peak && y - y_of(peak) < 28;
    svg.text(
        kRight, under_another ? y + 16 : y - 8, other.name, {.anchor = Anchor::end, .small = true});
  }
  const double table_end = draw_table(svg, kTop + 4, dots, roofs, peaks);

  // Where dots crowd, their numbers stand below each other beside them: at the left if a roof or
  // another dot follows at the right.
  std::sort(
      dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.tflops > b.tflops; });
  const double slope = (y_of(10) - y_of(1)) / (x_of(10) - x_of(1));  // of the roofs
  struct Numbers {
    double above = 0, beside = 0;  // the last one
  } at_left, at_right;
  for (const Dot& dot : dots) {
    constexpr double kRoom = 32, kHigh = 17;
    const double x = x_of(dot.intensity), dot_y = y_of(dot.tflops);
    const auto follows = [&](double at) { return x < at && at < x + kRoom; };
    const auto at_its_height = [&](const Roof& roof) {
      return x + (dot_y - y_of(dot.intensity * roof.tb_per_s)) / slope;
    };
    bool left =
        std::any_of(
            roofs.begin(), roofs.end(),
            [&](const Roof& roof) { return follows(at_its_height(roof)); }) ||
        std::any_of(dots.begin(), dots.end(), [&](const Dot& other) {
          return follows(x_of(other.intensity)) && std::abs(y_of(other.tflops) - dot_y) < kRoom;
        });
    double beyond = x;  // a roof at the right, if one is at the left as well
    for (const Roof& roof : roofs) {
      if (follows(at_its_height(roof))) beyond = std::max(beyond, at_its_height(roof));
    }
    const bool after_a_roof = std::any_of(roofs.begin(), roofs.end(), [&](const Roof& roof) {
      const double at = at_its_height(roof);
      return x - kRoom < at && at < x;
    });
    const std::string number = text::printed("%d", dot.row->number);
    const double width = text_width(number, {.bold = true});
    if (after_a_roof && (beyond == x || dot_y < y_of(peak) + kRoom)) left = false;
    Numbers& numbers = left ? at_left : at_right;
    const double beside = left ? x - 6 - width : std::max(x, beyond) + 16;
    const bool crowded = dot_y < numbers.above + kHigh && std::abs(beside - numbers.beside) < 20;
    numbers.above = crowded ? numbers.above + kHigh : dot_y;
    numbers.beside = !crowded ? beside
                     : left   ? std::min(numbers.beside, beside - 8)
                              : std::max(numbers.beside, beside + 8);
    svg.line(
        x, dot_y, left ? numbers.beside + width + 1 : numbers.beside - 3, numbers.above, "thin");
    svg.circle(x, dot_y, 5, Fill::one);
    svg.text(numbers.beside, numbers.above + 6, number, {.bold = true});
  }
  const double y = svg.paragraph(24, std::max(kBottom + 70, table_end + 28), finding, 752);
  return {
      "roofline",
      "Roofline: all stages on an " + gpu.name +
          text::printed(", %d × %d × %d", measured.size, measured.size, measured.size),
      {finding, svg.elements(), y + 4}};
}

}  // namespace pictures
