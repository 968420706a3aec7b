#include "model/compiled_kernel.h"

#include <algorithm>
#include <string>

namespace model {
namespace {

constexpr CompiledKernel kRecords[] = {
#include "model/compiled_kernels.inc"
};

std::string without_spaces(std::string_view text) {
  std::string result(text);
  std::erase(result, ' ');
  return result;
}

std::optional<CompiledKernel> nearest(
    std::string_view kernel, int compute_capability, bool with_loop) {
  const std::string wanted = without_spaces(kernel);
  std::optional<CompiledKernel> best;
  for (const CompiledKernel& record : kRecords) {
    if (record.compute_capability > compute_capability) continue;
    if (best && record.compute_capability <= best->compute_capability) continue;
    if (with_loop && !record.has_loop()) continue;
    if (without_spaces(record.kernel) == wanted) best = record;
  }
  return best;
}

}  // namespace

int InstructionMix::all() const {
  return ldg32 + ldg64 + ldg128 + lds() + sts32 + sts64 + sts128 + stg32 + stg64 + stg128 +
         ldgsts32 + ldgsts64 + ldgsts128 + ffma + mma + bar + other;
}

Rounds rounds(const CompiledKernel& record, double results, int K, int BK) {
  const double multiplications = results * K;
  const bool tensor = record.loop.mma_products + record.inner.mma_products > 0;
  const auto of_a_thread = [&](const InstructionMix& mix) {
    return tensor ? mix.mma_products / 32.0 : mix.ffma;
  };
  const double loop = of_a_thread(record.loop), inner = of_a_thread(record.inner);
  if (inner == 0) return {loop > 0 ? multiplications / loop : 0, 0};
  const double tiles = BK > 0 ? static_cast<double>(K) / BK : 0;
  return {tiles, std::max(0.0, multiplications - tiles * loop) / inner};
}

std::span<const CompiledKernel> compiled_kernels() {
  return kRecords;
}

std::optional<CompiledKernel> find_compiled_kernel(
    std::string_view kernel, int compute_capability) {
  return nearest(kernel, compute_capability, false);
}

std::optional<CompiledKernel> find_compiled_loop(std::string_view kernel, int compute_capability) {
  return nearest(kernel, compute_capability, true);
}

}  // namespace model
