#include <algorithm>
#include <cmath>

#include "lab/run.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

// What a thread loads per result of C.
struct Loads {
  double floats, loads;
};

Loads per_result(const lab::Run& run, const lab::Row& row, model::Traffic model::Counts::*of) {
  const model::Traffic& traffic = (*row.counts).*of;
  const auto share = [&](const model::PerThread& all) {
    // Where the warps divide the work, all threads together count.
    if (row.stage->specialized) {
      const double tiles = model::traced_tiles(lab::product_of(run), *row.variant, *row.counts);
      return static_cast<double>(all.sum) / (tiles * row.variant->BM * row.variant->BN);
    }
    return static_cast<double>(all.max) / lab::results_per_thread(*row.variant);
  };
  return {share(traffic.floats), share(traffic.accesses)};
}

// The copy engine moves so many floats at a time that no result has a load of its own.
bool in_boxes(const Loads& of) {
  return of.floats > 0 && of.loads < 0.005;
}

// "64 floats in 16 loads"; of single floats the number says both.
std::string words(const Loads& of) {
  const auto number = [](double value) {
    return value < 100 ? text::shortest(std::round(value * 100) / 100) : text::exact(value);
  };
  if (of.floats == 0) return "none";
  const std::string floats = number(of.floats) + (number(of.floats) == "1" ? " float" : " floats");
  if (in_boxes(of)) return floats + ", in boxes";
  return of.loads == of.floats
             ? floats
             : floats + " in " + number(of.loads) + (of.loads == 1 ? " load" : " loads");
}

}  // namespace

Picture draw_loads(const lab::Run& run) {
  constexpr double kLeft = 204, kRight = 680, kHigh = 15, kStep = 44;
  double most = 0;
  for (const lab::Row& row : run.rows) {
    most = std::max(
        {most, per_result(run, row, &model::Counts::gmem_loads).floats,
         per_result(run, row, &model::Counts::smem_loads).floats});
  }
  const double scale = (kRight - kLeft) / most;
  const lab::Row &first = run.rows.front(), &last = run.rows.back();
  const auto from = [&](const lab::Row& row, model::Traffic model::Counts::*of, const char* where) {
    const Loads loads = per_result(run, row, of);
    return words(loads) + (in_boxes(loads) ? ", from " : " from ") + where + " memory";
  };
  const std::string finding =
      text::printed(
          "Per result of C with K = %d, a thread of stage %d loads ", run.K, first.number) +
      from(first, &model::Counts::gmem_loads, "global") +
      text::printed(". A thread of stage %d loads ", last.number) +
      from(last, &model::Counts::gmem_loads, "global") + " and " +
      from(last, &model::Counts::smem_loads, "shared") + ".";
  Svg svg;
  const double x = svg.legend(24, 66, Fill::warp, "from global memory");
  svg.legend(x, 66, Fill::other, "from shared memory");
  double y = 92;
  const double top = y - 4, bottom = y + kStep * static_cast<double>(run.rows.size()) - 8;
  for (double tick = 0; tick <= most; tick += most / 4) {
    svg.line(kLeft + tick * scale, top, kLeft + tick * scale, bottom, "hair");
    svg.text(
        kLeft + tick * scale, bottom + 14, text::exact(tick),
        {.anchor = Anchor::middle, .small = true});
  }
  svg.text(kLeft - 10, bottom + 14, "floats", {.anchor = Anchor::end, .small = true});
  for (const lab::Row& row : run.rows) {
    svg.text(
        kLeft - 10, y + 19, text::printed("%d ", row.number) + row.name, {.anchor = Anchor::end});
    const auto bar = [&](double at, const Loads& loads, Fill fill) {
      if (loads.floats > 0) svg.rect(kLeft, at, loads.floats * scale, kHigh, fill);
      svg.text(kLeft + loads.floats * scale + 6, at + 12, words(loads), {.small = true});
    };
    bar(y, per_result(run, row, &model::Counts::gmem_loads), Fill::warp);
    bar(y + kHigh + 1, per_result(run, row, &model::Counts::smem_loads), Fill::other);
    y += kStep;
  }
  y = svg.paragraph(
      24, bottom + 42, finding + " The bars show floats. One load of a float4 brings four of them.",
      752);
  return {
      "loads",
      text::printed("Floats loaded per result of C, K = %d, as traced", run.K),
      {finding, svg.elements(), y + 4}};
}

}  // namespace pictures
