#include <algorithm>
#include <cmath>

#include "lab/rates.h"
#include "pictures/pictures.h"
#include "pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr int kMainSize = 4096;

const RecordedLadder& main_run(const std::vector<RecordedLadder>& runs) {
  const auto found = std::find_if(
      runs.begin(), runs.end(), [](const RecordedLadder& run) { return run.size == kMainSize; });
  return found == runs.end() ? runs.front() : *found;
}

// Zeros where it was not recorded.
RecordedSpeed recorded(const RecordedLadder& run, int number) {
  for (const RecordedSpeed& speed : run.speeds) {
    if (speed.number == number) return speed;
  }
  return {number, 0, 0, 0};
}

double speed_of(const RecordedLadder& run, int number) {
  return recorded(run, number).tflops;
}

std::string stage_label(const model::Stage& stage) {
  return text::printed("%d %s", stage.number, stage.name);
}

// Between two powers of the base.
struct LogScale {
  double from, to, low, high;  // px, and what lies there
  double operator()(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
};

}  // namespace

Picture draw_staircase(
    std::span<const model::Stage> all_stages, const std::vector<RecordedLadder>& runs) {
  const RecordedLadder& run = main_run(runs);
  std::vector<const model::Stage*> stages;  // that were recorded
  for (const model::Stage& stage : all_stages) {
    if (speed_of(run, stage.number) > 0) stages.push_back(&stage);
  }
  constexpr double kLeft = 204, kRight = 716, kHigh = 22, kStep = 34;
  const double cublas = speed_of(run, -1);
  double most = cublas;
  for (const RecordedLadder& other : runs) {
    for (const RecordedSpeed& speed : other.speeds) most = std::max(most, speed.tflops);
  }
  const double scale = (kRight - kLeft) / most;
  Picture picture;
  picture.name = "staircase";
  const auto runs_on_gpu = [](const model::Stage* stage) { return !stage->variants.empty(); };
  const model::Stage& first = **std::find_if(stages.begin(), stages.end(), runs_on_gpu);
  const model::Stage& last = *stages.back();
  picture.finding =
      text::printed(
          "On an H200 at %d × %d × %d the stages climb from ", run.size, run.size, run.size) +
      text::significant(speed_of(run, first.number)) +
      text::printed(" TFLOP/s (stage %d) to ", first.number) +
      text::significant(speed_of(run, last.number)) + text::printed(" (stage %d), ", last.number) +
      text::exact(recorded(run, last.number).cublas_percent) + " % of cuBLAS with " +
      text::significant(cublas) + ".";
  Svg svg(
      text::printed(
          "The staircase: TFLOP/s of each stage on an H200, %d × %d × %d", run.size, run.size,
          run.size),
      picture.finding);
  double x = svg.legend(24, 66, Fill::warp, text::printed("recorded at %d", run.size));
  for (const RecordedLadder& other : runs) {
    if (other.size == run.size) continue;
    svg.circle(x + 8, 61, 5, other.size < run.size ? Fill::paper : Fill::one);
    svg.text(x + 20, 66, text::printed("at %d", other.size), {.small = true});
    x += 84;
  }
  svg.line(x + 8, 61, x + 32, 61, "dashed");
  svg.text(x + 38, 66, "cuBLAS fp32", {.small = true});
  double y = 92;
  const double top = y - 8;
  for (const model::Stage* stage : stages) {
    const double speed = speed_of(run, stage->number);
    svg.text(kLeft - 10, y + 16, stage_label(*stage), {.anchor = Anchor::end});
    svg.rect(kLeft, y, std::max(speed * scale, 0.5), kHigh, Fill::warp);
    double label = kLeft + speed * scale;
    for (const RecordedLadder& other : runs) {
      const double there = speed_of(other, stage->number), at = kLeft + there * scale;
      if (other.size == run.size || there == 0 || !runs_on_gpu(stage)) continue;
      svg.circle(at, y + kHigh / 2, 5, other.size < run.size ? Fill::paper : Fill::one);
      label = std::max(label, at + 5);
    }
    std::string text = speed < 0.01 ? text::printed("%.4f", speed) : text::significant(speed);
    const double times = recorded(run, stage->number).times_before;
    if (times > 0 && runs_on_gpu(stage) && stage != &first)
      text += "  (× " + text::brief(times) + ")";
    // Right of the bar, or in it where it would come to cuBLAS's line.
    const bool inside = label + 112 > kLeft + cublas * scale;
    svg.text(inside ? kLeft + 12 : label + 8, y + 16, text, {.on_fill = inside});
    y += kStep;
  }
  const double line = kLeft + cublas * scale;
  svg.line(line, top, line, y, "dashed");
  svg.text(line, y + 16, text::significant(cublas), {.anchor = Anchor::middle, .small = true});
  svg.line(kLeft, top, kLeft, y, "thin");
  y = svg.paragraph(24, y + 46, picture.finding + " In brackets: times the stage before.", 100);
  picture.svg = svg.file(y + 4);
  return picture;
}

Picture draw_loads(const lab::Run& run) {
  constexpr double kLeft = 204, kRight = 726, kHigh = 14, kStep = 44;
  const LogScale scale{kLeft, kRight, 0.5, 1024};
  const auto per_result = [](const lab::Row& row, const model::Traffic& traffic) {
    return std::round(
               100 * static_cast<double>(traffic.accesses.max) /
               lab::results_per_thread(*row.variant)) /
           100;
  };
  Picture picture;
  picture.name = "loads";
  std::string last;
  for (const lab::Row& row : run.rows) {
    const std::string global = text::exact(per_result(row, row.counts->gmem_loads)),
                      shared = text::exact(per_result(row, row.counts->smem_loads));
    if (&row == &run.rows.front()) {
      picture.finding =
          text::printed(
              "For one result of C with K = %d a thread of stage %d loads ", run.K, row.number) +
          global + " times from global memory";
    }
    last = text::printed(", one of stage %d ", row.number) + global + " times from global and " +
           shared + " times from shared memory.";
  }
  picture.finding += last;
  Svg svg(text::printed("Loads for one result of C, K = %d, as traced", run.K), picture.finding);
  double x = svg.legend(24, 66, Fill::warp, "from global memory");
  x = svg.legend(x, 66, Fill::other, "from shared memory");
  svg.text(x, 66, "loads of any width: one float4 is one", {.small = true, .faint = true});
  double y = 92;
  const double top = y - 4, bottom = y + kStep * static_cast<double>(run.rows.size());
  for (const int tick : {1, 4, 16, 64, 256, 1024}) {
    svg.line(scale(tick), top, scale(tick), bottom, "hair");
    svg.text(
        scale(tick), bottom + 14, text::printed("%d", tick),
        {.anchor = Anchor::middle, .small = true});
  }
  for (const lab::Row& row : run.rows) {
    svg.text(
        kLeft - 10, y + 19, text::printed("%d ", row.number) + row.name, {.anchor = Anchor::end});
    const auto bar = [&](double at, double value, Fill fill) {
      const double end = value > 0 ? std::max(scale(value), kLeft + 1) : kLeft;
      if (value > 0) svg.rect(kLeft, at, end - kLeft, kHigh, fill);
      svg.text(end + 6, at + 11.5, value > 0 ? text::exact(value) : "none", {.small = true});
    };
    bar(y, per_result(row, row.counts->gmem_loads), Fill::warp);
    bar(y + kHigh + 1, per_result(row, row.counts->smem_loads), Fill::other);
    y += kStep;
  }
  y = svg.paragraph(24, y + 42, picture.finding, 100);
  picture.svg = svg.file(y + 4);
  return picture;
}

Picture draw_roofline(const lab::Run& run, const RecordedLadder& measured) {
  constexpr double kLeft = 70, kRight = 492, kTop = 92, kBottom = 452;
  const LogScale x_of{kLeft, kRight, 0.03, 100}, y_of{kBottom, kTop, 0.2, 100};
  const model::Gpu& gpu = run.gpu;
  struct Roof {
    const char* name;
    double tb_per_s;
  };
  const double l2 =
      gpu.l2_bytes_per_clock > 0 ? gpu.l2_bytes_per_clock : gpu.sms * model::l2_bytes_per_sm_clock;
  const Roof roofs[] = {
      {"L1", gpu.sms * 128 * gpu.boost_ghz / 1e3},
      {"L2", l2 * gpu.boost_ghz / 1e3},
      {"DRAM", gpu.dram_gb_per_s / 1e3}};
  const double peak = gpu.sms * gpu.fp32_lanes_per_sm * 2 * gpu.boost_ghz / 1e3;

  struct Dot {
    const lab::Row* row;
    double intensity, tflops;
  };
  std::vector<Dot> dots;
  for (const lab::Row& row : run.rows) {
    const double tflops = speed_of(measured, row.number);
    if (tflops == 0) continue;
    const double bytes = 32.0 * static_cast<double>(row.counts->gmem_loads.pieces) /
                         static_cast<double>(row.counts->blocks_traced);
    const double flops = 2.0 * row.variant->BM * row.variant->BN * run.K;
    dots.push_back({&row, flops / bytes, tflops});
  }
  Picture picture;
  picture.name = "roofline";
  const Dot &first = dots.front(), &last = dots.back();
  const Roof& dram = roofs[2];
  std::string cached;  // stages that are faster than DRAM alone could feed them
  for (const Dot& dot : dots) {
    if (dot.tflops > dot.intensity * dram.tb_per_s) {
      cached += (cached.empty() ? "" : " and ") + text::printed("%d", dot.row->number);
    }
  }
  picture.finding =
      text::printed(
          "From stage %d to %d the operations for a byte asked of global memory rise from ",
          first.row->number, last.row->number) +
      text::significant(first.intensity) + " to " + text::significant(last.intensity) + "; from " +
      text::significant(peak / dram.tb_per_s) +
      text::printed(
          " on DRAM is no limit any more. Stage %d reaches %.0f %% of what the multipliers can.",
          last.row->number, 100 * last.tflops / peak);
  if (!cached.empty()) {
    picture.finding += " Above DRAM's roof lie the stages " + cached + ": caches serve them.";
  }
  Svg svg(
      "Roofline: all stages on " + std::string("an ") + gpu.name +
          text::printed(", %d × %d × %d", measured.size, measured.size, measured.size),
      picture.finding);
  svg.text(24, 66, "TFLOP/s, recorded", {.small = true});
  for (const double tick : {0.1, 1.0, 10.0, 100.0}) {
    svg.line(x_of(tick), kTop, x_of(tick), kBottom, "hair");
    svg.text(
        x_of(tick), kBottom + 16, text::brief(tick), {.anchor = Anchor::middle, .small = true});
    if (tick < 0.2) continue;
    svg.line(kLeft, y_of(tick), kRight, y_of(tick), "hair");
    svg.text(kLeft - 8, y_of(tick) + 4, text::brief(tick), {.anchor = Anchor::end, .small = true});
  }
  svg.text(
      (kLeft + kRight) / 2, kBottom + 36, "operations for a byte asked of global memory, as traced",
      {.anchor = Anchor::middle, .small = true});
  for (const Roof& roof : roofs) {
    const double ridge = peak / roof.tb_per_s, low = std::max(0.03, 0.2 / roof.tb_per_s);
    svg.line(x_of(low), y_of(low * roof.tb_per_s), x_of(ridge), y_of(peak), "thick");
    constexpr double kNamedAt = 2.3;  // TFLOP/s
    svg.text(
        x_of(kNamedAt / roof.tb_per_s) - 5, y_of(kNamedAt), roof.name,
        {.anchor = Anchor::end, .small = true});
  }
  svg.line(x_of(peak / roofs[0].tb_per_s), y_of(peak), kRight, y_of(peak), "thick");
  svg.text(kRight, y_of(peak) - 8, "FMA", {.anchor = Anchor::end, .small = true});
  double y = kTop + 4;
  svg.text(524, y, "stage", {.bold = true, .small = true});
  svg.text(716, y, "op/byte", {.anchor = Anchor::end, .bold = true, .small = true});
  svg.text(776, y, "TFLOP/s", {.anchor = Anchor::end, .bold = true, .small = true});
  for (const Dot& dot : dots) {
    y += 24;
    svg.text(524, y, stage_label(*dot.row->stage), {.small = true});
    svg.text(716, y, text::significant(dot.intensity), {.anchor = Anchor::end, .small = true});
    svg.text(776, y, text::significant(dot.tflops), {.anchor = Anchor::end, .small = true});
  }
  y += 38;
  svg.text(524, y, "roof", {.bold = true, .small = true});
  for (const Roof& roof : roofs) {
    y += 24;
    svg.text(524, y, roof.name, {.small = true});
    svg.text(
        776, y, text::significant(roof.tb_per_s) + " TB/s", {.anchor = Anchor::end, .small = true});
  }
  y += 24;
  svg.text(524, y, "FMA", {.small = true});
  svg.text(776, y, text::significant(peak) + " TFLOP/s", {.anchor = Anchor::end, .small = true});

  // Where dots crowd, their numbers stand below each other beside them.
  std::sort(
      dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.tflops > b.tflops; });
  double above = 0, beside = 0;
  for (const Dot& dot : dots) {
    const double x = x_of(dot.intensity), dot_y = y_of(dot.tflops);
    const bool crowded = dot_y < above + 17 && std::abs(x + 16 - beside) < 20;
    above = crowded ? above + 17 : dot_y;
    beside = crowded ? std::max(beside, x + 24) : x + 16;
    svg.line(x, dot_y, beside - 3, above, "thin");
    svg.circle(x, dot_y, 5, Fill::one);
    svg.text(beside, above + 4.5, text::printed("%d", dot.row->number), {.bold = true});
  }
  y = svg.paragraph(24, kBottom + 70, picture.finding, 100);
  picture.svg = svg.file(y + 4);
  return picture;
}

}  // namespace pictures
