#include "model/choice.h"

#include <string_view>

namespace model {

namespace {

long long ceil_div(long long a, long long b) {
  return (a + b - 1) / b;
}

bool fits(const Variant& variant, const Gpu& gpu) {
  return variant.shared_bytes <= gpu.smem_bytes_per_block;
}

}  // namespace

Spread spread(const Variant& variant, const Gpu& gpu, int M, int N) {
  const long long tiles = ceil_div(M, variant.BM) * ceil_div(N, variant.BN);
  return {tiles, ceil_div(tiles, gpu.sms) * variant.BM * variant.BN};
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
  constexpr double kWorthIt = 0.75;
  const Variant* chosen = &first_variant(stage, gpu);
  if (!has_clock(gpu) || M == 0 || N == 0) return *chosen;
  for (const Variant& variant : stage.variants) {
    if (!variant.for_small || !fits(variant, gpu)) continue;
    const auto now = static_cast<double>(spread(*chosen, gpu, M, N).results);
    if (static_cast<double>(spread(variant, gpu, M, N).results) <= kWorthIt * now) {
      chosen = &variant;
    }
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
