#include <algorithm>
#include <cmath>
#include <string>

#include "cluster/report.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace cluster {

namespace {

using pictures::Anchor;
using pictures::Fill;
using pictures::Svg;

constexpr double kGap = 12;        // px, between the matrices
constexpr double kStrip = 9;       // px, of an operand along its part of C, at most
constexpr double kArrowsAt = 0.8;  // of a side of a part of C, below and beside its number
constexpr int kChosen = 0;         // the device whose parts are highlighted
constexpr ProblemSize kSize{16384, 16384, 16384};

// An area of the picture, in px.
struct Box {
  double x, y, wide, high;

  // Of a matrix: the area of these rows and columns.
  Box of(Interval row, Interval column) const {
    const auto px = [&](int extent) { return extent * wide / kSize.M; };
    return {x + px(column.begin), y + px(row.begin), px(column.size), px(row.size)};
  }
};

void fill_box(Svg& svg, const Box& box, Fill fill) {
  svg.rect(box.x, box.y, box.wide, box.high, fill);
}

void name_part(Svg& svg, const Box& box, int device) {
  svg.on_fill(
      box.x + box.wide / 2, box.y + box.high / 2 + 4.3, std::to_string(device), device == kChosen);
}

// The first step of the chosen device for which panels travel.
const PanelStep& step_of(const Schedule& s) {
  return *std::ranges::find_if(s.steps[kChosen], &PanelStep::arrives);
}

// A or B: the devices' parts, and over one of them the panel that goes to the chosen device.
void draw_operand(Svg& svg, const Box& matrix, const Schedule& s, bool is_A) {
  const PanelStep& step = step_of(s);
  const Interval k = step.k;
  const int owner = is_A ? step.owner_of_A : step.owner_of_B;
  fill_box(svg, matrix, Fill::paper);
  for (int device = 0; device < s.grid.devices(); ++device) {
    const Interval owned{s.steps[device][0].k.begin, is_A ? s.K_of_A(device) : s.K_of_B(device)};
    Box part = is_A ? matrix.of(s.M_of(device), owned) : matrix.of(owned, s.N_of(device));
    fill_box(svg, part, device == kChosen ? Fill::one : Fill::quiet);
    if (device == owner) {
      const Box panel = is_A ? matrix.of(s.M_of(device), k) : matrix.of(k, s.N_of(device));
      fill_box(svg, panel, is_A ? Fill::warp : Fill::other);
      // The number stands behind the panel, if there is room.
      double& begin = is_A ? part.x : part.y;
      double& size = is_A ? part.wide : part.high;
      const double covered = is_A ? panel.wide : panel.high;
      if (size - covered >= 17) begin += covered, size -= covered;
    }
    name_part(svg, part, device);
  }
}

// Along a row or a column.
void arrow(Svg& svg, double x1, double y1, double x2, double y2) {
  for (const char* kind : {"casing", "thick"}) svg.line(x1, y1, x2, y2, kind);
  const double length = std::hypot(x2 - x1, y2 - y1), head = std::min(6.0, 0.4 * length);
  const double along_x = head * (x2 - x1) / length, along_y = head * (y2 - y1) / length;
  const auto side = [&](double sign) {
    return pictures::pixels(x2 - along_x + sign * 0.7 * along_y) + " " +
           pictures::pixels(y2 - along_y + sign * 0.7 * along_x);
  };
  svg.path(
      "M" + side(1) + "L" + pictures::pixels(x2) + " " + pictures::pixels(y2) + "L" + side(-1),
      "thick");
}

// C: the devices' parts, each with its operands in this step along two sides. Those of the chosen
// device come from the devices that own them.
void draw_result(Svg& svg, const Box& C, const Schedule& s) {
  const auto part_of = [&](int device) { return C.of(s.M_of(device), s.N_of(device)); };
  const auto strip = [](double length) { return std::min(kStrip, 0.22 * length); };
  fill_box(svg, C, Fill::paper);
  for (int device = 0; device < s.grid.devices(); ++device) {
    const Box part = part_of(device);
    fill_box(svg, part, device == kChosen ? Fill::one : Fill::quiet);
    const double wide = strip(part.wide), high = strip(part.high);
    fill_box(svg, {part.x, part.y, wide, part.high}, Fill::warp);
    fill_box(svg, {part.x + wide, part.y, part.wide - wide, high}, Fill::other);
    // Above the arrow along the row, and to the left of the one along the column.
    const double right = s.grid.rows > 1 ? kArrowsAt * part.wide - 2 : part.wide;
    const double bottom = s.grid.columns > 1 ? kArrowsAt * part.high - 2 : part.high;
    name_part(svg, {part.x + wide, part.y + high, right - wide, bottom - high}, device);
  }
  const PanelStep& step = step_of(s);
  const Box to = part_of(kChosen);
  if (step.A_arrives) {
    const double y = to.y + kArrowsAt * to.high;
    arrow(svg, part_of(step.owner_of_A).x, y, to.x + strip(to.wide), y);
  }
  if (step.B_arrives) {
    const double x = to.x + kArrowsAt * to.wide;
    arrow(svg, x, part_of(step.owner_of_B).y, x, to.y + strip(to.high));
  }
}

std::string in_words(double bytes) {
  const bool many = bytes >= 1e9;
  return text::significant(bytes / (many ? 1e9 : 1e6)) + (many ? " GB" : " MB");
}

std::string travels(const Schedule& s) {
  return in_words(sizeof(float) * floats_that_travel(s.size, s.grid)) + " travel";
}

// A schedule's matrices, A to the left of C and B above it. Returns the y below.
double draw_schedule(Svg& svg, const Schedule& s, const char* copies, double x, double side) {
  constexpr double kTop = 172;  // px
  const Box A{x, kTop + side + kGap, side, side}, B{x + side + kGap, kTop, side, side};
  const Box C{B.x, A.y, side, side};
  const std::string grid = text::printed("%d × %d: ", s.grid.rows, s.grid.columns);
  svg.bold(x, 122, grid + travels(s));
  svg.small(x, 142, copies);
  draw_operand(svg, A, s, true);
  draw_operand(svg, B, s, false);
  draw_result(svg, C, s);
  const double below = C.y + side + 18;
  const std::string size = text::printed(" %d × %d", kSize.M, kSize.N);
  svg.small(A.x, A.y - 6, "A" + size);
  svg.small(B.x, B.y - 6, "B" + size);
  svg.small(C.x, below, "C" + size);
  return below;
}

}  // namespace

pictures::Picture draw_ownership() {
  const Schedule s = schedule(kSize, {2, 2}, 4096);
  const Schedule row = schedule(kSize, {1, 4}, s.panel);
  const Load load = predicted_load(s, kChosen);
  const auto bytes = [](std::int64_t count) { return in_words(static_cast<double>(count)); };
  const PanelStep& step = step_of(s);
  const std::string finding =
      text::printed(
          "Each device computes its part of C, which stays where it is, and begins with the panels "
          "that it owns. In step %d, device %d multiplies k = %d to %d: device %d sends it the "
          "panel of A along the grid's row, and device %d that of B along the column. In all "
          "steps, ",
          static_cast<int>(&step - s.steps[kChosen].data()), kChosen, step.k.begin,
          step.k.end() - 1, step.owner_of_A, step.owner_of_B) +
      travels(s) + " on 2 × 2 devices, and " + travels(row) +
      text::printed(" on 1 × 4. Device %d receives ", kChosen) + bytes(load.bytes_received) +
      ", sends " + bytes(load.bytes_sent) + ", and holds " + bytes(load.bytes_held) + " at most.";

  Svg svg;
  double x = svg.legend(24, 66, Fill::one, text::printed("device %d's parts", kChosen));
  x = svg.legend(x, 66, Fill::warp, text::printed("panel of A, for device %d", kChosen));
  x = svg.legend(x, 66, Fill::other, "panel of B");
  arrow(svg, x + 2, 61.5, x + 20, 61.5);
  svg.small(x + 28, 66, "travels");
  svg.faint(
      24, 90,
      "A number is the device that owns the part. Along its part of C lie the two panels that it "
      "multiplies.");
  double y = draw_schedule(svg, s, "A goes to 1 other device, B goes to 1 other device.", 24, 190);
  draw_schedule(svg, row, "A goes to 3 other devices, B stays where it is.", 452, 140);
  return {
      "gpus-ownership", "Who owns what, and what travels: 2 × 2 devices",
      svg.with(finding, y + 36)};
}

}  // namespace cluster
