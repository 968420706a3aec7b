#include <algorithm>
#include <tuple>

#include "pictures/pictures.h"
#include "pictures/sm_times.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr double kLeft = 90, kWide = 684, kHigh = 2;  // px; kHigh of one SM

// Time from left to right, in K tiles.
struct Time {
  double last;
  double x(double k_tiles) const { return kLeft + k_tiles / last * kWide; }
};

Fill fill_of(const SmTime& one) {
  return one.parts == 1 ? Fill::warp : one.part == 0 ? Fill::one : Fill::other;
}

// Neighbouring SMs that do the same at the same time are one area. Returns the y below.
double draw_sms(
    Svg& svg, double y, const Time& time, const std::vector<SmTime>& times, int sms,
    const std::string& title) {
  svg.text(24, y, title, {.bold = true});
  y += 12;
  std::vector<SmTime> sorted = times;
  std::sort(sorted.begin(), sorted.end(), [](const SmTime& a, const SmTime& b) {
    return std::tie(a.begin, a.end, a.sm) < std::tie(b.begin, b.end, b.sm);
  });
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t next = i + 1;
    while (next < sorted.size() && sorted[next].begin == sorted[i].begin &&
           sorted[next].end == sorted[i].end && fill_of(sorted[next]) == fill_of(sorted[i]) &&
           sorted[next].sm == sorted[next - 1].sm + 1) {
      ++next;
    }
    const SmTime& one = sorted[i];
    svg.rect(
        time.x(one.begin), y + one.sm * kHigh, time.x(one.end) - time.x(one.begin),
        static_cast<double>(next - i) * kHigh, fill_of(one));
    i = next;
  }
  svg.rect(kLeft, y, kWide, sms * kHigh, Fill::outline);
  svg.text(24, y + 10, "SM 0", {.small = true});
  svg.text(24, y + sms * kHigh, text::printed("SM %d", sms - 1), {.small = true});
  return y + sms * kHigh + 32;
}

double ticks(Svg& svg, double y, const Time& time, int k_tiles) {
  svg.line(kLeft, y, kLeft + kWide, y, "thin");
  for (int at = 0; at <= time.last; at += k_tiles) {
    svg.line(time.x(at), y, time.x(at), y + 5, "thin");
    svg.text(time.x(at), y + 18, text::grouped(at), {.anchor = Anchor::middle, .small = true});
  }
  svg.text(24, y + 18, "K tiles", {.small = true});
  return y + 46;
}

std::string finding_of(
    const model::ShareOut& shares, const std::vector<SmTime>& before,
    const std::vector<SmTime>& after, int tiles, int k_tiles, int sms) {
  const int end_before = end_of(before), end_after = end_of(after);
  const int cut = tiles - shares.whole, busy = busy_sms(before, end_before - 1);
  const int last = k_tiles - (shares.parts - 1) * shares.depth;
  const int idle = sms - busy, waves = (tiles + sms - 1) / sms;
  std::string finding =
      text::printed(
          "C has %d tiles with %d K tiles each. If each tile has one block, the blocks run on %d "
          "SMs "
          "in %d ",
          tiles, k_tiles, sms, waves) +
      (waves == 1 ? "wave, in which" : "waves, and in the last one") +
      text::printed(" %d SMs are idle. Cut along K, ", idle) +
      (cut == 1 ? std::string("the last tile") : text::printed("each of the last %d tiles", cut)) +
      text::printed(" has %d parts", shares.parts);
  finding += last == shares.depth ? text::printed(" of %d K tiles", last)
             : shares.parts == 2
                 ? text::printed(" of %d and %d K tiles", shares.depth, last)
                 : text::printed(" of %d K tiles, the last one of %d", shares.depth, last);
  if (cut > idle) {
    finding += text::printed(
        ": the %d SMs that were idle compute the second parts, up to %d of them one after the "
        "other",
        idle, (cut + idle - 1) / idle);
  }
  return finding + ". The last block ends after " + text::grouped(end_after) +
         " K tiles instead of " + text::grouped(end_before) + ": " +
         text::printed(
             "%.2f waves instead of %.0f.", static_cast<double>(end_after) / k_tiles,
             static_cast<double>(end_before) / k_tiles);
}

}  // namespace

std::optional<Drawing> draw_sm_times(
    const model::Variant& variant, const model::Gpu& gpu, int M, int N, int K) {
  const model::ShareOut shares = model::share_out(variant, M, N, K, gpu.sms);
  if (shares.parts == 1) return std::nullopt;
  const model::ShareOut uncut = model::share_out(variant, M, N, K, 0);
  const int tiles = model::tiles_of(variant, M, N), k_tiles = uncut.depth;
  const std::vector<SmTime> before = sm_times(uncut, tiles, k_tiles, gpu.sms);
  const std::vector<SmTime> after = sm_times(shares, tiles, k_tiles, gpu.sms);
  const std::string finding = finding_of(shares, before, after, tiles, k_tiles, gpu.sms);
  Svg svg;
  double x = svg.legend(24, 66, Fill::warp, "a whole tile of C");
  x = svg.legend(x, 66, Fill::one, "the first part of a tile");
  x = svg.legend(x, 66, Fill::other, shares.parts == 2 ? "its second part" : "its other parts");
  svg.legend(x, 66, Fill::paper, "idle");
  svg.text(
      24, 90,
      text::printed(
          "A row is an SM of an %s, with one block at a time. The product is %d × %d × %d, a tile "
          "of C %d × %d.",
          gpu.name.c_str(), M, N, K, variant.BM, variant.BN),
      {.small = true, .faint = true});
  const Time time{static_cast<double>(std::max(end_of(before), end_of(after)))};
  double y = draw_sms(svg, 122, time, before, gpu.sms, "Before: a block for each tile");
  y = draw_sms(svg, y, time, after, gpu.sms, "After: the tiles of the last wave are cut along K");
  y = ticks(svg, y - 24, time, k_tiles);
  y = svg.paragraph(24, y, finding, 752);
  y = svg.paragraph(
      24, y + 6,
      "Time is counted in K tiles. What it takes to start a block, and to store and add up the "
      "sums of the parts, is left out.",
      752, {.small = true, .faint = true});
  return Drawing{finding, svg.elements(), y + 4};
}

}  // namespace pictures
