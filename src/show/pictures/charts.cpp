// The charts of the ladder: its staircase of speeds, its loads, and its roofline.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "lab/run.h"
#include "model/ceiling.h"
#include "model/gpus.h"
#include "show/pictures/pictures.h"
#include "show/pictures/recorded_gpus.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

bool runs_on_gpu(const model::Stage& stage) {
  return !stage.variants.empty();
}

// A stage that was recorded.
struct Stair {
  const model::Stage* stage;
  RecordedSpeed speed;
  double roof_tflops;  // of the tensor cores with its instruction; 0 if it does not use them
};

double tensor_roof(const model::Gpu& gpu, const model::Stage& stage) {
  if (!runs_on_gpu(stage)) return 0;
  const model::Multiplier multiplier = stage.variants.front().multiplier;
  return multiplier == model::Multiplier::ffma ? 0 : model::peak_tflops(gpu, multiplier);
}

// Stages that multiply alike stand beside one yardstick, cuBLAS at their precision.
struct StairGroup {
  bool tensor, tf32;
  double cublas_tflops;  // 0: it was not recorded
  std::vector<Stair> stairs;

  std::string cublas() const { return tf32 ? "cuBLAS tf32" : "cuBLAS fp32"; }
  double percent(const Stair& stair) const { return 100 * stair.speed.tflops / cublas_tflops; }
};

std::vector<StairGroup> groups_of(
    std::span<const model::Stage> stages, const RecordedLadder& run, const model::Gpu& gpu) {
  std::vector<StairGroup> groups;
  bool follows = false;  // a stage on the GPU
  for (const model::Stage& stage : stages) {
    Stair stair{&stage, run.of(stage.number), tensor_roof(gpu, stage)};
    if (stair.speed.tflops == 0) continue;
    if (!std::exchange(follows, follows || runs_on_gpu(stage))) stair.speed.times_before = 0;
    const bool tensor = stair.roof_tflops > 0, tf32 = stage.precision.u_in >= model::kTf32.u_in;
    if (groups.empty() || groups.back().tensor != tensor || groups.back().tf32 != tf32) {
      groups.push_back({tensor, tf32, run.of(tf32 ? kCublasTf32 : kCublasFp32).tflops, {}});
    }
    groups.back().stairs.push_back(stair);
  }
  return groups;
}

std::string finding_of(const std::vector<StairGroup>& groups, const RecordedLadder& run) {
  const std::vector<Stair>& stairs = groups.front().stairs;
  const Stair& first =
      *std::ranges::find_if(stairs, [](const Stair& stair) { return runs_on_gpu(*stair.stage); });
  std::string finding =
      "On an " + run.gpu +
      text::printed(
          " at %d × %d × %d stage %d makes ", run.size, run.size, run.size, first.stage->number) +
      text::significant(first.speed.tflops) + " TFLOP/s.";
  for (const StairGroup& group : groups) {
    const Stair& last = group.stairs.back();
    finding += text::printed(" Stage %d makes ", last.stage->number) +
               text::significant(last.speed.tflops) + ", " + text::brief(group.percent(last)) +
               " % of " + group.cublas() + ".";
  }
  return finding;
}

// The recordings at other sizes are marks on the bars: those at smaller sizes diamonds, those at
// larger ones circles.
void mark(Svg& svg, double x, double y, bool smaller) {
  constexpr double kRadius = 4;
  if (smaller) {
    svg.diamond(x, y, kRadius + 1, Fill::waiting);
  } else {
    svg.circle(x, y, kRadius, Fill::one);
  }
}

void draw_legend(Svg& svg, const std::vector<RecordedLadder>& runs, int size, bool has_roof) {
  constexpr double y = 66;
  double x = svg.legend(24, y, Fill::warp, text::printed("recorded at %d", size));
  for (const RecordedLadder& other : runs) {
    if (other.size == size) continue;
    mark(svg, x + 8, y - 5, other.size < size);
    svg.small(x + 20, y, text::printed("at %d", other.size));
    x += 84;
  }
  svg.line(x + 8, y - 5, x + 32, y - 5, "dashed");
  svg.small(x + 38, y, "cuBLAS");
  if (!has_roof) return;
  svg.line(x + 108, y - 12, x + 108, y + 4, "thick");
  svg.small(x + 116, y, "roof of the tensor cores");
}

}  // namespace

// The tensor cores have a scale of their own, so that the stages without them can be distinguished.
// All numbers are in columns beside the bars.
Picture draw_staircase(std::span<const model::Stage> all_stages, const RecordedGpu& recorded) {
  const RecordedLadder& run = main_run(recorded.ladders);
  std::vector<RecordedLadder> runs = recorded.ladders;
  std::erase_if(runs, [&](const RecordedLadder& of) {
    return of.size != run.size && of.size != 1024 && of.size != 8192;
  });
  const std::vector<StairGroup> groups = groups_of(all_stages, run, recorded.gpu);
  constexpr double kLeft = 204, kRight = 544, kHigh = 16, kStep = 23;
  constexpr double kSpeed = 606, kTimes = 680, kPercent = 776;  // the columns
  const auto most = [&](bool tensor) {
    double tflops = 0;
    for (const StairGroup& group : groups) {
      if (group.tensor != tensor) continue;
      tflops = std::max(tflops, group.cublas_tflops);
      for (const Stair& stair : group.stairs) {
        tflops = std::max(tflops, stair.roof_tflops);
        for (const RecordedLadder& other : runs) {
          tflops = std::max(tflops, other.of(stair.stage->number).tflops);
        }
      }
    }
    return tflops;
  };
  Svg svg;
  draw_legend(svg, runs, run.size, groups.back().tensor);
  const auto column = [&](double right, double y, const std::string& words, bool heading = false) {
    svg.text(right, y, words, {.anchor = Anchor::end, .bold = heading, .small = heading});
  };
  double y = 96;
  column(kSpeed, y, "TFLOP/s", true);
  column(kTimes, y, "× before", true);
  column(kPercent, y, "% of cuBLAS", true);
  for (const StairGroup& group : groups) {
    const double high = most(group.tensor), scale = (kRight - kLeft) / high;
    svg.bold(
        24, y,
        group.tensor ? group.tf32 ? "tf32, tensor cores" : "fp32, tensor cores" : "fp32, FMA");
    const double top = y + 6, bottom = y + 10 + kStep * static_cast<double>(group.stairs.size());
    const bool ends_scale = &group == &groups.back() || (&group + 1)->tensor != group.tensor;
    for (double tick = 0; tick <= high; tick += std::pow(10, std::floor(std::log10(high)))) {
      const double x = kLeft + tick * scale;
      svg.line(x, top, x, bottom, "hair");
      if (ends_scale) {
        svg.centred(x, bottom + 12, text::exact(tick));
      }
    }
    y += 10;
    for (const Stair& stair : group.stairs) {
      const double middle = y + kHigh / 2, words_y = middle + 5;
      svg.text(
          kLeft - 10, words_y, text::printed("%d %s", stair.stage->number, stair.stage->name),
          {.anchor = Anchor::end});
      const double speed = stair.speed.tflops;
      std::string line = text::printed("Stage %d, %s: ", stair.stage->number, stair.stage->name) +
                         text::significant(speed) + " TFLOP/s";
      if (stair.roof_tflops > 0) {
        line += " of " + text::significant(stair.roof_tflops) + " with its instruction";
      }
      for (const RecordedLadder& other : recorded.ladders) {
        const double there = other.of(stair.stage->number).tflops;
        if (other.size == run.size || there == 0) continue;
        line += text::printed("; at %d ", other.size) + text::significant(there);
      }
      svg.begin_mark(line);
      svg.rect(kLeft, y, std::max(speed * scale, 0.5), kHigh, Fill::warp);
      for (const RecordedLadder& other : runs) {
        const double there = other.of(stair.stage->number).tflops;
        if (other.size == run.size || there == 0 || !runs_on_gpu(*stair.stage)) continue;
        mark(svg, kLeft + there * scale, middle, other.size < run.size);
      }
      if (const double roof = kLeft + stair.roof_tflops * scale; roof > kLeft) {
        svg.line(roof, y - 3, roof, y + kHigh + 3, "thick");
      }
      svg.end_mark();
      column(
          kSpeed, words_y, speed < 0.01 ? text::printed("%.4f", speed) : text::significant(speed));
      const double times = stair.speed.times_before;
      if (times > 0) column(kTimes, words_y, text::brief(times));
      if (group.cublas_tflops > 0) column(kPercent, words_y, text::brief(group.percent(stair)));
      y += kStep;
    }
    if (const double line = kLeft + group.cublas_tflops * scale; line > kLeft) {
      const std::string name = group.cublas() + " " + text::significant(group.cublas_tflops);
      const double half = text_width(name, {.small = true}) / 2;
      for (const char* kind : {"casing", "dashed"}) svg.line(line, top, line, bottom - 3, kind);
      svg.centred(std::clamp(line, kLeft + half, kRight - half), top - 4, name);
    }
    y = bottom + (ends_scale ? 38 : 18);
  }
  return {
      "staircase",
      text::printed(
          "The staircase: TFLOP/s on an %s, %d × %d × %d", run.gpu.c_str(), run.size, run.size,
          run.size),
      svg.with(
          finding_of(groups, run), y + 8,
          " The second column compares with the stage before. The tensor cores have another "
          "scale.")};
}

namespace {

// The bandwidth of a memory.
struct Roof {
  std::string name;
  double tb_per_s;
};

// A bound of the multiplications, with each instruction that a stage multiplies with: FMA, and
// those of the tensor cores.
struct Peak {
  std::string name;
  double tflops;
  std::set<int> stages = {};  // that multiply so
};

// A stage that was measured. The intensity is in operations per byte requested from global memory,
// as traced.
struct Dot {
  const lab::Row* row;
  double intensity, tflops;
};

// By model::Multiplier.
constexpr const char* kInstructions[] = {"FMA",        "mma tf32",       "wgmma tf32",
                                         "wgmma bf16", "wgmma 3 x tf32", "wgmma 3 x f16"};

Peak peak_of(const model::Gpu& gpu, const model::Variant& variant) {
  return {
      kInstructions[static_cast<int>(variant.multiplier)],
      model::peak_tflops(gpu, variant.multiplier)};
}

// Ascending.
std::vector<Peak> peaks_of(const model::Gpu& gpu, const std::vector<Dot>& dots) {
  std::vector<Peak> peaks;
  for (const Dot& dot : dots) {
    const Peak peak = peak_of(gpu, *dot.row->variant);
    auto known = std::ranges::find(peaks, peak.name, &Peak::name);
    if (known == peaks.end()) known = peaks.insert(known, peak);
    known->stages.insert(dot.row->number);
  }
  std::ranges::sort(peaks, {}, &Peak::tflops);
  return peaks;
}

std::vector<Dot> dots_of(const lab::Run& run, const RecordedLadder& measured) {
  std::vector<Dot> dots;
  for (const lab::Row& row : run.rows) {
    const double tflops = measured.of(row.number).tflops;
    if (tflops == 0) continue;
    const double bytes = 32.0 * static_cast<double>(row.counts->gmem_loads.pieces) /
                         static_cast<double>(row.counts->blocks_traced);
    const double flops = 2.0 * row.variant->BM * row.variant->BN * run.K;
    dots.push_back({&row, flops / bytes, tflops});
  }
  return dots;
}

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
  std::set<int> cached;  // stages that are faster than DRAM alone could feed them
  for (const Dot& dot : dots) {
    if (dot.tflops > dot.intensity * dram.tb_per_s) cached.insert(dot.row->number);
  }
  std::string finding =
      text::printed(
          "From stage %d to stage %d the operations per byte asked of global memory rise from ",
          first.row->number, last.row->number) +
      text::significant(first.intensity) + " to " + text::significant(last.intensity) + ". From " +
      text::significant(peak / dram.tb_per_s) +
      text::printed(
          " operations per byte on, DRAM is no longer the limit of stage %d, which reaches %.0f %% "
          "of %s.",
          last.row->number, 100 * last.tflops / peak,
          tensor ? "the tensor cores' peak with its instruction" : "the multipliers' peak");
  if (!cached.empty()) {
    const bool is_one = cached.size() == 1;
    finding += (is_one ? " Stage " : " Stages ") + text::ranges_of(cached) +
               (is_one ? " lies" : " lie") +
               " above DRAM's roof, because caches answer most of what is asked.";
  }
  return finding;
}

// The picture's numbers. Returns where they end.
double draw_table(
    Svg& svg, double y, const std::vector<Dot>& dots, const std::vector<Roof>& roofs,
    const std::vector<Peak>& peaks) {
  constexpr double kName = 524, kIntensity = 716, kSpeed = 776;
  const auto row = [&](const std::string& name, double intensity, double speed) {
    y += 19;
    svg.small(kName, y, name);
    const auto number = [&](double x, double value) { svg.right(x, y, text::significant(value)); };
    if (intensity > 0) number(kIntensity, intensity);
    number(kSpeed, speed);
  };
  const auto heading = [&](const char* name, const char* intensity, const char* speed) {
    svg.small_bold(kName, y, name);
    svg.text(kIntensity, y, intensity, {.anchor = Anchor::end, .bold = true, .small = true});
    svg.text(kSpeed, y, speed, {.anchor = Anchor::end, .bold = true, .small = true});
  };
  heading("stage", "op/byte", "TFLOP/s");
  for (const Dot& dot : dots) {
    row(text::printed("%d %s", dot.row->number, dot.row->stage->name), dot.intensity, dot.tflops);
  }
  y += 30;
  heading("stages: roof", "from op/byte", "TFLOP/s");
  for (const Peak& peak : peaks) {
    row(text::ranges_of(peak.stages) + ": " + peak.name, peak.tflops / roofs.back().tb_per_s,
        peak.tflops);
  }
  y += 30;
  heading("memory", "", "TB/s");
  for (const Roof& roof : roofs) row(roof.name, 0, roof.tb_per_s);
  return y;
}

}  // namespace

Picture draw_roofline(const lab::Run& run, const RecordedLadder& measured) {
  constexpr double kLeft = 70, kRight = 492, kTop = 92, kBottom = 560;
  const model::Gpu& gpu = run.gpu;
  const std::vector<Roof> roofs = {
      {"L1", gpu.sms * model::l1_bytes_per_clock(gpu) * gpu.boost_ghz / 1e3},
      {"L2", model::l2_bytes_per_clock(gpu) * gpu.boost_ghz / 1e3},
      {"DRAM", gpu.dram_gb_per_s / 1e3}};
  std::vector<Dot> dots = dots_of(run, measured);
  const std::vector<Peak> peaks = peaks_of(gpu, dots);
  const double peak = peaks.back().tflops;      // the highest
  const double high = peak < 100 ? 100 : 1000;  // the scales end there
  const LogScale x_of{kLeft, kRight, 0.03, high}, y_of{kBottom, kTop, 0.2, high};
  const std::string finding = finding_of(dots, roofs.back(), gpu);
  Svg svg;
  svg.small(24, 66, "TFLOP/s, recorded");
  for (double tick = 0.1; tick <= high * 1.01; tick *= 10) {
    svg.line(x_of(tick), kTop, x_of(tick), kBottom, "hair");
    svg.centred(x_of(tick), kBottom + 16, text::exact(tick));
    if (tick < 0.2) continue;
    svg.line(kLeft, y_of(tick), kRight, y_of(tick), "hair");
    svg.right(kLeft - 8, y_of(tick) + 4, text::exact(tick));
  }
  svg.centred(
      (kLeft + kRight) / 2, kBottom + 36, "operations per byte asked of global memory, as traced");
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
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    const double y = y_of(peaks[i].tflops);
    svg.line(x_of(peaks[i].tflops / roofs[0].tb_per_s), y, kRight, y, "thick");
    std::set<int> stages = peaks[i].stages;
    if (i + 1 < peaks.size() && peaks[i + 1].tflops == peaks[i].tflops) continue;  // one name
    for (std::size_t j = i; j > 0 && peaks[j - 1].tflops == peaks[i].tflops; --j) {
      stages.insert(peaks[j - 1].stages.begin(), peaks[j - 1].stages.end());
    }
    // A long name stands below the line, where no dot's number is.
    const bool is_long = text_width(text::ranges_of(stages), {.small = true}) > 60;
    svg.right(kRight, is_long ? y + 15 : y - 8, text::ranges_of(stages));
  }
  const double table_end = draw_table(svg, kTop + 4, dots, roofs, peaks);

  // The numbers of crowded dots are listed beside them: on the left if a roof or another dot
  // follows on the right.
  std::ranges::sort(dots, std::greater(), &Dot::tflops);
  const double slope = (y_of(10) - y_of(1)) / (x_of(10) - x_of(1));  // of the roofs
  struct Numbers {
    double above = 0, beside = 0;  // the last one
  } at_left, at_right;
  for (std::size_t i = 0; i < dots.size();) {
    constexpr double kRoom = 32, kHigh = 17, kTouch = 5;
    // Dots that touch share one label.
    const Dot& dot = dots[i];
    std::set<int> touching;
    const auto touches = [&](const Dot& before, const Dot& next) {
      return std::abs(x_of(next.intensity) - x_of(before.intensity)) < 3 * kTouch &&
             std::abs(y_of(next.tflops) - y_of(before.tflops)) < kTouch;
    };
    do {
      touching.insert(dots[i].row->number);
      const auto& [row, intensity, tflops] = dots[i];
      const Peak roof = peak_of(gpu, *row->variant);
      svg.begin_mark(
          text::printed(
              "Stage %d, %s, tiles %s: ", row->number, row->stage->name, row->variant->name) +
          text::significant(tflops) + " TFLOP/s at " + text::significant(intensity) +
          " operations per byte, " + text::significant(100 * tflops / roof.tflops) +
          " % of the peak of " + roof.name + "; DRAM and this peak allow " +
          text::significant(std::min(intensity * roofs.back().tb_per_s, roof.tflops)) + " there");
      svg.circle(x_of(intensity), y_of(tflops), 5, Fill::one);
      svg.end_mark();
      ++i;
    } while (i < dots.size() && touches(dots[i - 1], dots[i]));
    const double x = x_of(dot.intensity), dot_y = y_of(dot.tflops);
    const auto follows = [&](double at) { return x < at && at < x + kRoom; };
    const auto at_height = [&](const Roof& roof, double y) {
      return x + (y - y_of(dot.intensity * roof.tb_per_s)) / slope;
    };
    double beyond = x;  // a roof on the right, if one is on the left as well
    bool after_a_roof = false;
    for (const Roof& roof : roofs) {
      const double at = at_height(roof, dot_y);
      if (follows(at)) beyond = std::max(beyond, at);
      after_a_roof |= x - kRoom < at && at < x;
    }
    bool left =
        beyond > x || std::ranges::any_of(dots, [&](const Dot& other) {
          return follows(x_of(other.intensity)) && std::abs(y_of(other.tflops) - dot_y) < kRoom;
        });
    const std::string number = text::ranges_of(touching);
    const double width = text_width(number, {.bold = true});
    if (after_a_roof && (beyond == x || dot_y < y_of(peak) + kRoom)) left = false;
    Numbers& numbers = left ? at_left : at_right;
    const double beside = left ? x - 6 - width : std::max(x, beyond) + 16;
    const bool crowded = dot_y < numbers.above + kHigh && std::abs(beside - numbers.beside) < 20;
    numbers.above = crowded ? numbers.above + kHigh : dot_y;
    numbers.beside = !crowded ? beside
                     : left   ? std::min(numbers.beside, beside - 8)
                              : std::max(numbers.beside, beside + 8);
    for (const Peak& roof : peaks) {
      constexpr double kClear = 9;
      const double roof_y = y_of(roof.tflops), above = numbers.above - roof_y;
      if (std::abs(above) < kClear) numbers.above = roof_y + std::copysign(kClear, above);
    }
    for (const Roof& roof : roofs) {  // a number keeps off a roof that rises past it
      const double below = at_height(roof, numbers.above + 8);
      const double above = at_height(roof, numbers.above - 8);
      const bool crossed = below < numbers.beside + width + 3 && above > numbers.beside - 3;
      if (crossed) numbers.beside = left ? below - width - 4 : above + 4;
    }
    svg.line(
        x, dot_y, left ? numbers.beside + width + 1 : numbers.beside - 3, numbers.above, "thin");
    svg.bold(numbers.beside, numbers.above + 6, number);
  }
  return {
      "roofline",
      "Roofline: all stages on an " + gpu.name +
          text::printed(", %d × %d × %d", measured.size, measured.size, measured.size),
      svg.with(finding, std::max(kBottom + 70, table_end + 28))};
}

}  // namespace pictures
