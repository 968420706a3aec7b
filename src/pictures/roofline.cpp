#include "pictures/roofline.h"

#include <algorithm>

#include "model/ceiling.h"

namespace pictures {

namespace {

const char* instruction_of(model::Multiplier multiplier) {
  switch (multiplier) {
    case model::Multiplier::ffma:
      return "FMA";
    case model::Multiplier::mma_tf32:
      return "tensor, mma tf32";
    case model::Multiplier::wgmma_tf32:
      return "tensor, wgmma tf32";
    case model::Multiplier::wgmma_bf16:
      return "tensor, wgmma bf16";
    case model::Multiplier::wgmma_3xtf32:
      return "tensor, wgmma 3 x tf32";
  }
  return "";
}

std::vector<Peak> peaks_of(const model::Gpu& gpu, const std::vector<Dot>& dots) {
  std::vector<Peak> peaks = {peak_of(gpu, {})};
  for (const Dot& dot : dots) {
    // A third of the peak of wgmma with tf32, too near to that of mma to be drawn beside it.
    if (dot.row->variant->multiplier == model::Multiplier::wgmma_3xtf32) continue;
    const Peak peak = peak_of(gpu, *dot.row->variant);
    const bool known = std::any_of(
        peaks.begin(), peaks.end(), [&](const Peak& other) { return other.name == peak.name; });
    if (!known) peaks.push_back(peak);
  }
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

}  // namespace

Peak peak_of(const model::Gpu& gpu, const model::Variant& variant) {
  return {instruction_of(variant.multiplier), model::peak_tflops(gpu, variant.multiplier)};
}

Roofline roofline_of(const lab::Run& run, const RecordedLadder& measured) {
  const model::Gpu& gpu = run.gpu;
  Roofline roofline{
      {{"L1", gpu.sms * model::l1_bytes_per_sm_clock * gpu.boost_ghz / 1e3},
       {"L2", model::l2_bytes_per_clock(gpu) * gpu.boost_ghz / 1e3},
       {"DRAM", gpu.dram_gb_per_s / 1e3}},
      {},
      dots_of(run, measured)};
  roofline.peaks = peaks_of(gpu, roofline.dots);
  return roofline;
}

}  // namespace pictures
