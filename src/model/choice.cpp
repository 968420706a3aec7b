#include "model/choice.h"

#include <algorithm>
#include <string_view>

#include "model/ceiling.h"

namespace model {

namespace {

long long ceil_div(long long a, long long b) {
  return (a + b - 1) / b;
}

// See Spread.
double clocks_of(const Variant& variant, const Gpu& gpu, double results, double tiles) {
  if (!has_clock(gpu)) return 0;
  const double peak = peak_tflops(gpu, variant.multiplier);
  if (variant.multiplier == Multiplier::ffma || peak == 0) return results / gpu.fp32_lanes_per_sm;
  const double products_per_clock = peak * 1e3 / (2 * gpu.sms * gpu.boost_ghz);
  const double bytes = tiles * (variant.BM + variant.BN) * bytes_of_element(variant);
  return results / products_per_clock + bytes / (l2_bytes_per_clock(gpu) / gpu.sms);
}

// So must what runs in its place.
bool fits(const Variant& variant, const Gpu& gpu) {
  return std::max(variant.shared_bytes, launched(variant, /*aligned=*/false).shared_bytes) <=
         gpu.smem_bytes_per_block;
}

}  // namespace

Spread spread(const Variant& variant, const Gpu& gpu, int M, int N) {
  const long long tiles = ceil_div(M, variant.BM) * ceil_div(N, variant.BN);
  const long long of_busiest = ceil_div(tiles, gpu.sms);
  const long long results = of_busiest * variant.BM * variant.BN;
  return {
      tiles, results, of_busiest * gpu.warp.warps_of(variant.threads()),
      clocks_of(variant, gpu, static_cast<double>(results), static_cast<double>(of_busiest))};
}

const Variant& first_variant(const Stage& stage, const Gpu& gpu) {
  for (const Variant& variant : stage.variants) {
    if (fits(variant, gpu)) return variant;
  }
  return stage.variants.front();
}

std::string why_not_run(const Stage& stage, const Gpu& gpu) {
  if (!is_traceable(stage, gpu)) return "needs warps of 32";
  const bool later = gpu.compute_capability > stage.runs_from && !stage.only_there;
  if (later || gpu.compute_capability == stage.runs_from || stage.runs_from == 0) return "";
  return "needs sm_" + std::to_string(stage.runs_from) + (stage.only_there ? "a" : "");
}

bool is_traceable(const Stage& stage, const Gpu& gpu) {
  return stage.runs_from == 0 || gpu.warp.lanes == kGpuWarp.lanes;
}

const Variant& suited_variant(const Stage& stage, const Gpu& gpu, int M, int N) {
  constexpr double kWorthIt = 0.75, kWorthItWithLoads = 0.7;
  constexpr long long kWarpsToHideWaiting = 12;
  const Variant* chosen = &first_variant(stage, gpu);
  if (!has_clock(gpu) || M == 0 || N == 0) return *chosen;
  for (const Variant& variant : stage.variants) {
    if (!variant.for_small || !fits(variant, gpu)) continue;
    const Spread now = spread(*chosen, gpu, M, N), then = spread(variant, gpu, M, N);
    const bool with_loads = variant.multiplier != Multiplier::ffma;
    const bool sooner = then.clocks <= (with_loads ? kWorthItWithLoads : kWorthIt) * now.clocks;
    const bool more_warps = chosen->pipeline == 0 && now.warps < kWarpsToHideWaiting &&
                            then.warps > now.warps && then.results <= now.results;
    if (sooner || more_warps) chosen = &variant;
  }
  return *chosen;
}

const Variant& comparable_variant(
    const Variant& variant, const Stage& other, const Gpu& gpu, int M, int N) {
  for (const Variant& candidate : other.variants) {
    if (std::string_view(candidate.name) == variant.name) return candidate;
  }
  return suited_variant(other, gpu, M, N);
}

}  // namespace model
