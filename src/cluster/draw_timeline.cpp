#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cluster/draw.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace cluster {

namespace {

using pictures::Anchor;
using pictures::Fill;
using pictures::Svg;
using pictures::text_width;

constexpr double kLeft = 144, kWide = 620;  // px, where time is drawn

// Of a lane: its row's name, what its spans are, and how they look.
struct Look {
  Lane lane;
  const char *name, *meaning;
  Fill fill;
  const char* plain;  // the class of an area without a border
};
constexpr Look kLooks[] = {
    {Lane::arrive, "panels", "panels travel", Fill::warp, "warp"},
    {Lane::multiply, "multiply", "they are multiplied", Fill::one, "one"},
    {Lane::leave, "results", "results leave", Fill::other, "other"}};

// What both timelines share: the rows, and time from left to right.
struct Frame {
  double last_ms;
  double high;  // px, of a row
  int devices;
  std::vector<Look> lanes;  // those that have spans
  double x(double ms) const { return kLeft + ms / last_ms * kWide; }
};

Frame frame_of(const std::vector<const Timeline*>& timelines) {
  Frame frame{0, 0, 1, {}};
  for (const Look& look : kLooks) {
    bool is_used = false;
    for (const Timeline* one : timelines) {
      for (const Span& span : one->spans) {
        is_used = is_used || span.lane == look.lane;
        frame.devices = std::max(frame.devices, span.device + 1);
      }
    }
    if (is_used) frame.lanes.push_back(look);
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
    const Look& look) {
  constexpr double kNarrow = 4, kLeast = 1;  // px; what is shorter would not be seen
  using pictures::pixels;
  std::string narrow;
  for (const Span& span : timeline.spans) {
    if (span.device != device || span.lane != look.lane) continue;
    const double x = frame.x(span.begin_ms);
    const double width = std::max(frame.x(span.end_ms) - x, kLeast);
    if (width < kNarrow) {
      narrow += "M" + pixels(x) + " " + pixels(y) + "h" + pixels(width) + "v" + pixels(frame.high) +
                "h" + pixels(-width) + "z";
    } else {
      svg.rect(x, y, width, frame.high, look.fill);
      draw_words(svg, frame, span, y);
    }
  }
  if (!narrow.empty()) svg.path(narrow, look.plain);
}

// "37 %", and never a round number for what is not quite nothing or all.
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
    for (const Look& look : frame.lanes) {
      svg.text(
          kLeft - 8, at + frame.high / 2 + 4.3, look.name,
          {.anchor = Anchor::end, .small = true, .faint = true});
      svg.rect(kLeft, at, kWide, frame.high, Fill::paper);
      draw_row(svg, at, frame, timeline, device, look);
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

// Of `span`, what the spans of multiplications leave.
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

// On the device on which it is longest.
std::string exposed_in_words(const Timeline& timeline, int devices) {
  Exposed worst;
  for (int device = 0; device < devices; ++device) {
    const Exposed one = exposed_of(timeline, device);
    if (one.ms > worst.ms) worst = one;
  }
  const double least = 0.0005 * timeline.ms();  // what nobody could see
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
  for (const Look& look : frame.lanes) x = svg.legend(x, 66, look.fill, look.meaning);
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
