// The parts of a GPU.
#include "model/ceiling.h"
#include "model/gpus.h"
#include "model/warp_access.h"
#include "show/pictures/pictures.h"
#include "show/pictures/svg.h"
#include "text/numbers.h"

namespace pictures {

namespace {

// The size of an SM's L1 cache and shared memory together, which the model does not use. H200: that
// of the same chip in NVIDIA's H100 whitepaper. RTX 3090: NVIDIA's GA102 whitepaper.
struct Sized {
  const char* gpu;
  int l1_and_smem_kb;
};
constexpr Sized kH200{"H200", 256}, kRtx3090{"RTX 3090", 128};

std::string kb(int bytes) {
  return text::printed("%d KB", bytes / 1024);
}

std::string tb_per_s(double bytes_per_clock, const model::Gpu& gpu) {
  return text::significant(bytes_per_clock * gpu.boost_ghz / 1e3) + " TB/s";
}

void words(Svg& svg, double x, double y, const std::string& text, bool bold = false) {
  svg.text(x, y, text, {.anchor = Anchor::middle, .bold = bold, .small = true, .on_fill = true});
}

constexpr double kX = 24, kGpuWide = 446, kSm = 84, kL1 = 306, kL2 = 432, kDram = 520, kBox = 50;

// One of an SM's four parts, which issues and computes for its warps.
void draw_part(Svg& svg, double x, const model::Gpu& gpu) {
  constexpr double kPart = 102;
  const double middle = x + kPart / 2;
  const int lanes = gpu.fp32_lanes_per_sm / model::kSchedulers;
  svg.rect(x, kSm + 32, kPart, 178, Fill::paper);
  svg.rect(x + 6, kSm + 38, kPart - 12, 42, Fill::waiting);
  words(svg, middle, kSm + 55, "scheduler", true);
  words(svg, middle, kSm + 72, "1 issue/cycle");
  svg.rect(x + 6, kSm + 86, kPart - 12, 42, Fill::one);
  words(svg, middle, kSm + 103, "registers", true);
  words(svg, middle, kSm + 120, kb(4 * gpu.registers_per_sm / model::kSchedulers));
  svg.rect(x + 6, kSm + 134, kPart - 12, 44, Fill::quiet);
  svg.grid(x + 6, kSm + 134, kPart - 12, 44, lanes / 4, 4);
  svg.centred(middle, kSm + 198, text::printed("%d FMA lanes", lanes));
}

void draw_arrow(Svg& svg, double from, double to, const std::string& text) {
  const double x = kX + 60;
  svg.line(x, from + 4, x, to - 4, "thick");
  svg.path(
      "M" + pixels(x - 5) + " " + pixels(from + 10) + "l5 -6l5 6M" + pixels(x - 5) + " " +
          pixels(to - 10) + "l5 6l5 -6",
      "thick");
  svg.small(x + 16, (from + to) / 2 + 4, text);
}

void draw_chip(Svg& svg, const model::Gpu& gpu) {
  const double sm_end = kL1 + 82;
  for (const double behind : {12.0, 6.0, 0.0}) {  // the other SMs
    svg.rect(kX + behind, kSm + 6 - behind / 2, kGpuWide - 12, sm_end - kSm - 6, Fill::paper);
  }
  svg.small_bold(kX + 12, kSm + 24, "SM: streaming multiprocessor");
  svg.right(
      kX + kGpuWide - 20, kSm + 24,
      text::printed("a warp: %d threads, its lanes", model::kWarpSize));
  for (int part = 0; part < model::kSchedulers; ++part) draw_part(svg, kX + 8 + part * 105.0, gpu);
  const double smem_wide = 262;
  svg.rect(kX + 8, kL1, smem_wide, 74, Fill::other);
  words(svg, kX + 8 + smem_wide / 2, kL1 + 18, "shared memory", true);
  svg.rect(kX + 16, kL1 + 26, smem_wide - 16, 18, Fill::paper);
  svg.grid(kX + 16, kL1 + 26, smem_wide - 16, 18, model::kBanks, 1);
  words(
      svg, kX + 8 + smem_wide / 2, kL1 + 62,
      text::printed("%d banks, %d bytes per cycle each", model::kBanks, model::kWordBytes));
  const double l1_x = kX + 8 + smem_wide + 6, l1_wide = kGpuWide - 28 - smem_wide - 6 + 1;
  svg.rect(l1_x, kL1, l1_wide, 74, Fill::warp);
  words(svg, l1_x + l1_wide / 2, kL1 + 18, "L1 cache", true);
  words(svg, l1_x + l1_wide / 2, kL1 + 38, "1 line per cycle:");
  words(svg, l1_x + l1_wide / 2, kL1 + 56, text::printed("%.0f bytes", model::kWavefrontBytes));
  draw_arrow(
      svg, sm_end, kL2, text::printed("sectors of %d bytes, 4 to a line", model::kSectorBytes));
  svg.rect(kX, kL2, kGpuWide, kBox, Fill::warp);
  words(svg, kX + kGpuWide / 2, kL2 + 21, "L2 cache", true);
  words(svg, kX + kGpuWide / 2, kL2 + 39, "one for all SMs");
  draw_arrow(svg, kL2 + kBox, kDram, "what no cache holds");
  svg.rect(kX, kDram, kGpuWide, kBox, Fill::warp);
  words(svg, kX + kGpuWide / 2, kDram + 21, "DRAM: global memory", true);
  words(svg, kX + kGpuWide / 2, kDram + 39, "A, B and C");
}

void draw_table(Svg& svg, const model::Gpu& a, const model::Gpu& b) {
  constexpr double kName = 494, kFirst = 690, kSecond = 776;
  using Gpu = model::Gpu;
  const auto row = [&](double y, const char* name, auto of, bool bold = false) {
    svg.text(kName, y, name, {.bold = bold, .small = true});
    svg.text(kFirst, y, of(a), {.anchor = Anchor::end, .bold = bold, .small = true});
    svg.text(kSecond, y, of(b), {.anchor = Anchor::end, .bold = bold, .small = true});
  };
  const auto peak = [](model::Multiplier of) {
    return [of](const Gpu& gpu) { return text::significant(model::peak_tflops(gpu, of)); };
  };
  row(
      84, "", [](const Gpu& gpu) { return gpu.name; }, true);
  row(106, "SMs", [](const Gpu& gpu) { return text::grouped(gpu.sms); });
  row(128, "clock (boost)", [](const Gpu& gpu) { return text::shortest(gpu.boost_ghz) + " GHz"; });
  svg.small_bold(kName, 156, "per SM");
  row(178, "warps at a time",
      [](const Gpu& gpu) { return text::grouped(gpu.threads_per_sm / 32); });
  row(200, "registers", [](const Gpu& gpu) { return kb(4 * gpu.registers_per_sm); });
  row(222, "FMA lanes", [](const Gpu& gpu) { return text::grouped(gpu.fp32_lanes_per_sm); });
  svg.small_bold(kName, 250, "all SMs, in TFLOP/s");
  row(272, "FMA, peak", peak(model::Multiplier::ffma));
  row(294, "tensor cores, tf32, peak", peak(model::Multiplier::wgmma_tf32));
  svg.small_bold(kName, 326, "L1 and shared memory");
  row(348, "both, per SM", [](const Gpu& gpu) {
    return text::grouped((gpu.name == kH200.gpu ? kH200 : kRtx3090).l1_and_smem_kb) + " KB";
  });
  row(370, "shared, at most", [](const Gpu& gpu) { return kb(gpu.smem_bytes_per_sm); });
  row(392, "rate, sum of SMs",
      [](const Gpu& gpu) { return tb_per_s(gpu.sms * model::l1_bytes_per_clock(gpu), gpu); });
  row(452, "L2, size", [](const Gpu& gpu) { return text::exact(gpu.l2_mib) + " MB"; });
  row(474, "L2, sum of SMs' reads",
      [](const Gpu& gpu) { return tb_per_s(model::l2_bytes_per_clock(gpu), gpu); });
  row(540, "DRAM, size", [](const Gpu& gpu) { return text::grouped(gpu.dram_gib) + " GB"; });
  row(562, "DRAM, rate",
      [](const Gpu& gpu) { return text::significant(gpu.dram_gb_per_s / 1e3) + " TB/s"; });
}

}  // namespace

Picture draw_gpu() {
  const model::Gpu &h200 = *model::find_gpu(kH200.gpu), &rtx3090 = *model::find_gpu(kRtx3090.gpu);
  const std::string finding =
      text::printed(
          "A GPU is many SMs that share an L2 cache and DRAM: %d on an H200, %d on an RTX 3090. In "
          "each SM, %d schedulers issue the instructions of its warps, each to %d lanes; the "
          "registers, shared memory and the L1 cache are the SM's own. ",
          h200.sms, rtx3090.sms, model::kSchedulers, h200.fp32_lanes_per_sm / model::kSchedulers) +
      "While DRAM brings one byte, the lanes of an H200 can do " +
      text::significant(
          1e3 * model::peak_tflops(h200, model::Multiplier::ffma) / h200.dram_gb_per_s) +
      " operations.";
  Svg svg;
  svg.faint(
      24, 62,
      text::printed(
          "Sizes and rates are NVIDIA's. An SM reads at most %.0f "
          "bytes per cycle from L1, %.0f from L2.",
          model::kWavefrontBytes, model::l2_bytes_per_sm_clock));
  draw_chip(svg, h200);
  draw_table(svg, h200, rtx3090);
  return {"gpu", "The GPU on one page", svg.with(finding, kDram + kBox + 32)};
}

}  // namespace pictures
