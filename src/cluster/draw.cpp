#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cluster/report.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace cluster {

namespace {

using pictures::Anchor;
using pictures::Fill;
using pictures::Svg;
using pictures::text_width;

constexpr double kGap = 12;          // px, between the matrices
constexpr double kShortest = 112;    // px, of a side: 8 parts have room for a number
constexpr double kLeastHigh = 10.5;  // px, for a number
constexpr int kChosen = 0;           // the device whose parts are highlighted
constexpr double kArrowsAt = 0.8;    // of a side of a part of C, below and beside its number

// An area of the picture, in px.
struct Box {
  double x, y, wide, high;
};

// A matrix at its place in the picture.
struct Matrix {
  Box box;
  int rows, columns;

  Box of(Part row, Part column) const {
    const double high = box.high / std::max(rows, 1), wide = box.wide / std::max(columns, 1);
    return {
        box.x + column.begin * wide, box.y + row.begin * high, column.size * wide, row.size * high};
  }
};

struct Matrices {
  Matrix A, B, C;
};

std::string size_of(const char* name, int rows, int columns) {
  return text::printed("%s %d × %d", name, rows, columns);
}

// A at the left of C, and B above it. The longest of M, N and K is `side`, and none is so short
// that nothing can be seen.
Matrices place(Shape shape, double x, double y, double side) {
  const int longest = std::max({shape.M, shape.N, shape.K, 1});
  const auto length = [&](int extent) { return std::max(side * extent / longest, kShortest); };
  const double m = length(shape.M), n = length(shape.N);
  // A's size is above A, to the left of B.
  const double words = text_width(size_of("A", shape.M, shape.K), {.small = true});
  const double k = std::max(length(shape.K), words - kGap);
  const double left = x + k + kGap, top = y + k + kGap;
  return {
      {{x, top, k, m}, shape.M, shape.K},
      {{left, y, n, k}, shape.K, shape.N},
      {{left, top, n, m}, shape.M, shape.N}};
}

void fill_box(Svg& svg, const Box& box, Fill fill) {
  if (box.wide <= 0 || box.high <= 0) return;
  svg.rect(box.x, box.y, std::max(box.wide, 1.5), std::max(box.high, 1.5), fill);
}

// A device's number, if there is room for it.
void name_part(Svg& svg, const Box& box, int device, bool on_fill) {
  const std::string words = std::to_string(device);
  if (box.high < kLeastHigh || text_width(words, {.small = true}) + 3 > box.wide) return;
  svg.text(
      box.x + box.wide / 2, box.y + box.high / 2 + 4.3, words,
      {.anchor = Anchor::middle, .small = true, .on_fill = on_fill});
}

// The area of a part beside the panel: the larger piece on one side, or the whole part if both are
// too small for a number.
Box beside(const Box& part, const Box& panel, bool panel_is_column) {
  constexpr double kLeastWide = 17;
  const auto larger = [](double begin, double size, double cut_begin, double cut_size) {
    const double before = cut_begin - begin, after = begin + size - cut_begin - cut_size;
    return before >= after ? std::array{begin, before} : std::array{cut_begin + cut_size, after};
  };
  Box free = part;
  if (panel_is_column) {
    const auto [x, wide] = larger(part.x, part.wide, panel.x, panel.wide);
    if (wide >= kLeastWide) free.x = x, free.wide = wide;
  } else {
    const auto [y, high] = larger(part.y, part.high, panel.y, panel.high);
    if (high >= kLeastHigh) free.y = y, free.high = high;
  }
  return free;
}

Fill fill_of(int device) {
  return device == kChosen ? Fill::one : Fill::quiet;
}

// A or B: the devices' parts, and this step's panel over the parts of those that own it.
void draw_operand(Svg& svg, const Matrix& matrix, const Schedule& s, const Step& step, bool is_A) {
  fill_box(svg, matrix.box, Fill::paper);
  const auto part_of = [&](int device) {
    return is_A ? matrix.of(s.M_of(device), s.K_of_A(device))
                : matrix.of(s.K_of_B(device), s.N_of(device));
  };
  for (int device = 0; device < s.grid.devices(); ++device) {
    const Box part = part_of(device);
    fill_box(svg, part, fill_of(device));
    const bool owns = !(is_A ? s.receives_A(device, step) : s.receives_B(device, step));
    if (!owns) {
      name_part(svg, part, device, device == kChosen);
      continue;
    }
    const Box panel = is_A ? matrix.of(s.M_of(device), step.k) : matrix.of(step.k, s.N_of(device));
    fill_box(svg, panel, is_A ? Fill::warp : Fill::other);
    const Box free = beside(part, panel, is_A);
    const bool is_over = free.wide == part.wide && free.high == part.high;
    name_part(svg, free, device, device == kChosen || is_over);
  }
}

// The operands of a device in a step are along two sides of its part of C.
double strip_of(double length) {
  return std::min(9.0, 0.22 * length);
}

// From one point to another on the same level or the same vertical line.
void arrow(Svg& svg, double x1, double y1, double x2, double y2) {
  for (const char* kind : {"casing", "thick"}) svg.line(x1, y1, x2, y2, kind);
  const double head = std::min(6.0, 0.4 * (std::abs(x2 - x1) + std::abs(y2 - y1)));
  const double along_x = x2 == x1 ? 0 : std::copysign(head, x2 - x1);
  const double along_y = y2 == y1 ? 0 : std::copysign(head, y2 - y1);
  const auto side = [&](double sign) {
    return pictures::pixels(x2 - along_x + sign * 0.7 * along_y) + " " +
           pictures::pixels(y2 - along_y + sign * 0.7 * along_x);
  };
  svg.path(
      "M" + side(1) + "L" + pictures::pixels(x2) + " " + pictures::pixels(y2) + "L" + side(-1),
      "thick");
}

// Each panel travels from the strip of the device that owns it to the strips of those that do not.
void draw_travel(Svg& svg, const Matrix& C, const Schedule& s, const Step& step) {
  const auto part = [&](int device) { return C.of(s.M_of(device), s.N_of(device)); };
  for (int device = 0; device < s.grid.devices(); ++device) {
    const Box to = part(device);
    if (to.wide <= 0 || to.high <= 0) continue;
    if (s.receives_A(device, step)) {
      const Box from = part(s.device_at(s.row_of(device), step.from_column));
      const double y = to.y + kArrowsAt * to.high;
      if (to.x > from.x) {
        arrow(svg, from.x + strip_of(from.wide), y, to.x, y);
      } else {
        arrow(svg, from.x, y, to.x + strip_of(to.wide), y);
      }
    }
    if (s.receives_B(device, step)) {
      const Box from = part(s.device_at(step.from_row, s.column_of(device)));
      const double x = to.x + kArrowsAt * to.wide;
      if (to.y > from.y) {
        arrow(svg, x, from.y + strip_of(from.high), x, to.y);
      } else {
        arrow(svg, x, from.y, x, to.y + strip_of(to.high));
      }
    }
  }
}

void draw_result(Svg& svg, const Matrix& C, const Schedule& s, const Step& step) {
  fill_box(svg, C.box, Fill::paper);
  for (int device = 0; device < s.grid.devices(); ++device) {
    const Box part = C.of(s.M_of(device), s.N_of(device));
    fill_box(svg, part, fill_of(device));
    const double wide = strip_of(part.wide), high = strip_of(part.high);
    if (step.k.size > 0) {
      fill_box(svg, {part.x, part.y, wide, part.high}, Fill::warp);
      fill_box(svg, {part.x + wide, part.y, part.wide - wide, high}, Fill::other);
    }
    // Above the arrows along the row, and to the left of those along the column.
    const double right = s.grid.rows > 1 ? kArrowsAt * part.wide - 2 : part.wide;
    const double bottom = s.grid.columns > 1 ? kArrowsAt * part.high - 2 : part.high;
    name_part(
        svg, {part.x + wide, part.y + high, right - wide, bottom - high}, device,
        device == kChosen);
  }
  if (step.k.size > 0) draw_travel(svg, C, s, step);
}

// Returns the y below.
double draw_matrices(Svg& svg, const Schedule& s, const Step& step, const Matrices& at) {
  draw_operand(svg, at.A, s, step, true);
  draw_operand(svg, at.B, s, step, false);
  draw_result(svg, at.C, s, step);
  const double below = at.C.box.y + at.C.box.high + 18;
  const auto [M, N, K] = s.shape;
  svg.text(at.A.box.x, at.A.box.y - 6, size_of("A", M, K), {.small = true});
  svg.text(at.B.box.x, at.B.box.y - 6, size_of("B", K, N), {.small = true});
  svg.text(at.C.box.x, below, size_of("C", M, N), {.small = true});
  return below;
}

std::string name_of(Grid grid) {
  return text::printed("%d × %d", grid.rows, grid.columns);
}

std::string in_words(double bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return (unit == 0 ? text::exact(bytes) : text::significant(bytes)) + " " + kUnits[unit];
}

double bytes_that_travel(const Schedule& s) {
  return sizeof(float) * floats_that_travel(s.shape, s.grid);
}

std::string travels(const Schedule& s) {
  const double bytes = bytes_that_travel(s);
  return bytes == 0 ? "nothing travels" : in_words(bytes) + " travel";
}

// To how many devices each element is sent.
std::string copies_of(Grid grid) {
  const auto goes = [](int others) {
    return others == 0   ? std::string("stays where it is")
           : others == 1 ? std::string("goes to 1 other device")
                         : text::printed("goes to %d other devices", others);
  };
  return "A " + goes(grid.columns - 1) + ", B " + goes(grid.rows - 1) + ".";
}

// "devices 0 and 2"
std::string devices_in_words(const std::vector<int>& devices) {
  if (devices.size() == 1) return text::printed("device %d", devices[0]);
  if (devices.size() > 4) {
    return text::printed("devices %d, %d, … %d", devices[0], devices[1], devices.back());
  }
  std::string words = "devices ";
  for (std::size_t i = 0; i < devices.size(); ++i) {
    words += (i == 0 ? "" : i + 1 == devices.size() ? " and " : ", ") + std::to_string(devices[i]);
  }
  return words;
}

std::string step_in_words(const Schedule& s, int number) {
  const Step& step = s.steps.at(number);
  const auto [P, Q] = s.grid;
  if (step.k.size == 0) return "K is 0, so there are no panels. ";
  std::vector<int> own_A, own_B;
  for (int device = 0; device < s.grid.devices(); ++device) {
    if (!s.receives_A(device, step)) own_A.push_back(device);
    if (!s.receives_B(device, step)) own_B.push_back(device);
  }
  const auto send = [](const std::vector<int>& owners, const char* panel) {
    return devices_in_words(owners) + (owners.size() == 1 ? " sends " : " send their parts of ") +
           panel;
  };
  const std::string A = send(own_A, "a panel of A along the grid's rows");
  const std::string B = send(own_B, "a panel of B along its columns");
  return text::printed("In step %d, with k = %d to %d, ", number, step.k.begin, step.k.end() - 1) +
         (Q == 1 && P == 1 ? "no panel travels"
          : P == 1         ? A + ", and B stays where it is"
          : Q == 1         ? B + ", and A stays where it is"
                           : A + ", and " + B) +
         ". ";
}

std::string load_in_words(const Schedule& s) {
  const Load load = predicted_load(s, kChosen);
  const auto bytes = [](std::int64_t count) { return in_words(static_cast<double>(count)); };
  return text::printed("Device %d receives ", kChosen) + bytes(load.bytes_received) + ", sends " +
         bytes(load.bytes_sent) + ", and holds " + bytes(load.bytes_held) + " at most.";
}

// A grid of as many devices to compare with; the same grid if there is no other.
Grid other_grid(const Schedule& s) {
  const int devices = s.grid.devices();
  const Grid row{1, devices};
  if (s.grid != row) return row;
  const Grid best = choose_grid(s.shape, devices);
  return best != row ? best : Grid{devices, 1};
}

// The step of another schedule of the same product to which k belongs.
const Step& step_at(const Schedule& s, int k) {
  for (const Step& step : s.steps) {
    if (k < step.k.end()) return step;
  }
  return s.steps.back();
}

std::string finding_of(const Schedule& s, int step, const Schedule& other) {
  const bool differs = other.grid != s.grid;
  return "Each device computes its part of C, which stays where it is. " + step_in_words(s, step) +
         "In all steps, " + travels(s) + " on " +
         (s.grid.devices() == 1 ? "1 device" : name_of(s.grid) + " devices") +
         (differs ? ", and " + travels(other) + " on " + name_of(other.grid) : std::string()) +
         ". " + load_in_words(s);
}

}  // namespace

pictures::Picture draw_ownership(const Schedule& s, int step) {
  const Schedule other = schedule(s.shape, other_grid(s), s.panel);
  const Step& now = s.steps.at(step);
  const std::string finding = finding_of(s, step, other);

  Svg svg;
  double x = svg.legend(24, 66, Fill::one, text::printed("device %d's parts", kChosen));
  x = svg.legend(x, 66, Fill::warp, text::printed("panel of A in step %d", step));
  x = svg.legend(x, 66, Fill::other, "panel of B");
  arrow(svg, x + 2, 61.5, x + 20, 61.5);
  svg.text(x + 28, 66, "travels to another device", {.small = true});
  svg.text(
      24, 90,
      "A number is the device that owns the part. Along its part of C lie the two panels that it "
      "multiplies.",
      {.small = true, .faint = true});

  const auto draw = [&](const Schedule& one, const Step& at, double left, double side) {
    svg.text(left, 122, name_of(one.grid) + ": " + travels(one), {.bold = true});
    svg.text(left, 142, copies_of(one.grid), {.small = true});
    return draw_matrices(svg, one, at, place(one.shape, left, 172, side));
  };
  constexpr double kSecond = 452;  // px, where the other grid begins
  double y = draw(s, now, 24, 190);
  if (other.grid != s.grid) {
    y = std::max(y, draw(other, step_at(other, now.k.begin), kSecond, 140));
  }
  y = svg.paragraph(24, y + 36, finding, 752);
  return {
      "gpus-ownership",
      "Who owns what, and what travels: " +
          (s.grid.devices() == 1 ? std::string("one device") : name_of(s.grid) + " devices"),
      {finding, svg.elements(), y + 4}};
}

namespace {

constexpr double kLeft = 144, kWide = 620;  // px, where time is drawn

// For a lane: its row's name, its kind of spans, and their style.
struct LaneStyle {
  Lane lane;
  const char *name, *meaning;
  Fill fill;
  const char* plain;  // the class of an area without a border
};
constexpr LaneStyle kLaneStyles[] = {
    {Lane::arrive, "panels", "panels travel", Fill::warp, "warp"},
    {Lane::multiply, "multiply", "they are multiplied", Fill::one, "one"},
    {Lane::leave, "results", "results leave", Fill::other, "other"}};

// What both timelines share: the rows, and time from left to right.
struct Frame {
  double last_ms;
  double high;  // px, of a row
  int devices;
  std::vector<LaneStyle> lanes;  // those that have spans
  double x(double ms) const { return kLeft + ms / last_ms * kWide; }
};

Frame frame_of(const std::vector<const Timeline*>& timelines) {
  Frame frame{0, 0, 1, {}};
  for (const LaneStyle& style : kLaneStyles) {
    bool is_used = false;
    for (const Timeline* one : timelines) {
      for (const Span& span : one->spans) {
        is_used = is_used || span.lane == style.lane;
        frame.devices = std::max(frame.devices, span.device + 1);
      }
    }
    if (is_used) frame.lanes.push_back(style);
  }
  for (const Timeline* one : timelines) frame.last_ms = std::max(frame.last_ms, one->ms());
  if (frame.last_ms <= 0) frame.last_ms = 1;
  const std::size_t rows = frame.devices * frame.lanes.size() * timelines.size();
  frame.high = rows <= 16 ? 20 : 14;
  return frame;
}

void draw_words(Svg& svg, const Frame& frame, const Span& span, double y) {
  const double x = frame.x(span.begin_ms), width = frame.x(span.end_ms) - x;
  const std::string number = std::to_string(span.step);
  for (const std::string& words : {"step " + number, number}) {
    if (text_width(words, {.small = true}) + 4 > width) continue;
    svg.text(
        x + width / 2, y + frame.high / 2 + 4.3, words,
        {.anchor = Anchor::middle, .small = true, .on_fill = true});
    return;
  }
}

// The borders of narrow spans would hide them, so they have none.
void draw_row(
    Svg& svg, double y, const Frame& frame, const Timeline& timeline, int device,
    const LaneStyle& style) {
  constexpr double kNarrow = 4, kLeast = 1;  // px; shorter ones could not be seen
  using pictures::pixels;
  std::string narrow;
  for (const Span& span : timeline.spans) {
    if (span.device != device || span.lane != style.lane) continue;
    const double x = frame.x(span.begin_ms);
    const double width = std::max(frame.x(span.end_ms) - x, kLeast);
    if (width < kNarrow) {
      narrow += "M" + pixels(x) + " " + pixels(y) + "h" + pixels(width) + "v" + pixels(frame.high) +
                "h" + pixels(-width) + "z";
    } else {
      svg.rect(x, y, width, frame.high, style.fill);
      draw_words(svg, frame, span, y);
    }
  }
  if (!narrow.empty()) svg.path(narrow, style.plain);
}

// "37 %"; 0 % and 100 % only if they are exact.
std::string percent(double share) {
  if (share > 0.995 && share < 1) return "more than 99 %";
  if (share > 0 && share < 0.005) return "less than 1 %";
  return text::printed("%.0f %%", 100 * share);
}

std::string ms_in_words(double ms) {
  return text::significant(ms) + " ms";
}

bool travels(const Timeline& timeline) {
  return std::any_of(timeline.spans.begin(), timeline.spans.end(), [](const Span& span) {
    return span.lane != Lane::multiply && span.end_ms > span.begin_ms;
  });
}

// Returns the y below.
double draw_rows(
    Svg& svg, double y, const Frame& frame, const Timeline& timeline, const std::string& name) {
  svg.text(
      24, y,
      name + ": " + ms_in_words(timeline.ms()) +
          (travels(timeline) ? ", " + percent(timeline.hidden()) + " of the copying is hidden"
                             : ", nothing is copied"),
      {.bold = true});
  y += 12;
  constexpr double kBetween = 4;  // px, between devices
  const double of_device = frame.high * static_cast<double>(frame.lanes.size()) + kBetween;
  for (int device = 0; device < frame.devices; ++device) {
    double at = y + device * of_device;
    svg.text(24, at + frame.high / 2 + 4.3, text::printed("device %d", device), {.small = true});
    for (const LaneStyle& style : frame.lanes) {
      svg.text(
          kLeft - 8, at + frame.high / 2 + 4.3, style.name,
          {.anchor = Anchor::end, .small = true, .faint = true});
      svg.rect(kLeft, at, kWide, frame.high, Fill::paper);
      draw_row(svg, at, frame, timeline, device, style);
      at += frame.high;
    }
  }
  return y + frame.devices * of_device;
}

// A round number of ms, of which 4 to 10 are in `last_ms`.
double tick_ms(double last_ms) {
  const double magnitude = std::pow(10, std::floor(std::log10(last_ms)));
  for (const double step : {0.1, 0.2, 0.5}) {
    if (last_ms <= 10.5 * step * magnitude) return step * magnitude;
  }
  return magnitude;
}

// Returns the y below.
double draw_axis(Svg& svg, double y, const Frame& frame) {
  svg.line(kLeft, y, kLeft + kWide, y, "thin");
  const double step = tick_ms(frame.last_ms);
  for (int i = 0; i * step <= frame.last_ms * (1 + 1e-9); ++i) {
    const double x = frame.x(i * step);
    svg.line(x, y, x, y + 5, "thin");
    const std::string words = step >= 1e-3 ? text::exact(i * step) : text::printed("%g", i * step);
    svg.text(x, y + 18, words, {.anchor = Anchor::middle, .small = true});
  }
  svg.text(24, y + 18, "ms", {.small = true});
  return y + 46;
}

// The time in which a device copies and does not multiply.
struct Exposed {
  int device = 0;
  double ms = 0, first_ms = 0, last_ms = 0;  // first_ms: before it multiplies; last_ms: after that
};

// The part of `span` that the spans of multiplications do not cover.
double uncovered_ms(const Span& span, const std::vector<Span>& multiply) {
  double ms = span.end_ms - span.begin_ms;
  for (const Span& other : multiply) {
    ms -= std::max(
        0.0, std::min(span.end_ms, other.end_ms) - std::max(span.begin_ms, other.begin_ms));
  }
  return ms;
}

Exposed exposed_of(const Timeline& timeline, int device) {
  std::vector<Span> multiply;
  for (const Span& span : timeline.spans) {
    if (span.device == device && span.lane == Lane::multiply) multiply.push_back(span);
  }
  Exposed exposed{device};
  double begin = timeline.ms(), end = 0;
  for (const Span& span : multiply) {
    begin = std::min(begin, span.begin_ms);
    end = std::max(end, span.end_ms);
  }
  for (const Span& span : timeline.spans) {
    if (span.device != device || span.lane == Lane::multiply) continue;
    const double ms = uncovered_ms(span, multiply);
    exposed.ms += ms;
    if (span.end_ms <= begin) exposed.first_ms += ms;
    if (span.begin_ms >= end) exposed.last_ms += ms;
  }
  return exposed;
}

// On the device with the longest time.
std::string exposed_in_words(const Timeline& timeline, int devices) {
  Exposed worst;
  for (int device = 0; device < devices; ++device) {
    const Exposed one = exposed_of(timeline, device);
    if (one.ms > worst.ms) worst = one;
  }
  const double least = 0.0005 * timeline.ms();  // too short to be seen
  if (worst.ms <= least) return "";
  std::string words = text::printed(" Device %d copies for ", worst.device) +
                      ms_in_words(worst.ms) + " without multiplying";
  const auto part = [&](double ms) {
    return worst.ms - ms <= least ? std::string("all") : ms_in_words(ms);
  };
  const char* of_it = " of it";
  for (const auto& [ms, when] :
       {std::pair{worst.first_ms, " before its first multiplication"},
        std::pair{worst.last_ms, " after its last one"}}) {
    if (ms <= least) continue;
    words += (*of_it == 0 ? " and " : ", ") + part(ms) + of_it + when;
    of_it = "";
  }
  return words + ".";
}

std::string times_in_words(const Timeline& timeline, int devices) {
  const std::string takes = "takes " + ms_in_words(timeline.ms());
  if (!travels(timeline)) return takes + ", and nothing is copied.";
  return takes + ", and " + percent(timeline.hidden()) +
         " of the copying is hidden behind multiplications." + exposed_in_words(timeline, devices);
}

std::string finding_of(const Timeline& model, const Timeline& measured, int devices) {
  std::string words;
  if (!model.spans.empty()) words = "By the model, the product " + times_in_words(model, devices);
  if (measured.spans.empty()) return words + " This is a model: nothing was measured.";
  return words + (words.empty() ? "Measured, the product " : " Measured, it ") +
         times_in_words(measured, devices);
}

}  // namespace

pictures::Picture draw_timeline(
    const Timeline& model, const Timeline& measured, const std::string& what) {
  std::vector<const Timeline*> drawn;
  for (const Timeline* one : {&model, &measured}) {
    if (!one->spans.empty()) drawn.push_back(one);
  }
  const Frame frame = frame_of(drawn);
  const std::string finding = finding_of(model, measured, frame.devices);

  Svg svg;
  double x = 24;
  for (const LaneStyle& style : frame.lanes) x = svg.legend(x, 66, style.fill, style.meaning);
  double y = svg.paragraph(24, 90, what, 752, {.small = true, .faint = true}) + 16;
  for (const Timeline* one : drawn) {
    y = draw_rows(svg, y, frame, *one, one == &model ? "Model" : "Measured") + 28;
  }
  y = draw_axis(svg, y - 28, frame);
  y = svg.paragraph(24, y, finding, 752);
  return {
      "gpus-timeline",
      "When panels travel, and when they are multiplied",
      {finding, svg.elements(), y + 4}};
}

}  // namespace cluster
