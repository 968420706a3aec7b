#include "model/mix.h"

#include <algorithm>
#include <string>

namespace model {
namespace {

constexpr LoopRecord kRecords[] = {
#include "model/mix.inc"
};

std::string without_spaces(std::string_view text) {
  std::string result(text);
  std::erase(result, ' ');
  return result;
}

}  // namespace

int InstructionMix::all() const {
  return ldg32 + ldg64 + ldg128 + lds32 + lds64 + lds128 + sts32 + sts64 + sts128 + stg32 + stg64 +
         stg128 + ldgsts32 + ldgsts64 + ldgsts128 + ffma + bar + other;
}

Rounds rounds(const LoopRecord& record, double results, int K, int BK) {
  const double multiplications = results * K;
  const InstructionMix& loop = record.loop;
  const InstructionMix& inner = record.inner;
  if (inner.ffma == 0) return {loop.ffma > 0 ? multiplications / loop.ffma : 0, 0};
  const double tiles = BK > 0 ? static_cast<double>(K) / BK : 0;
  return {tiles, std::max(0.0, multiplications - tiles * loop.ffma) / inner.ffma};
}

std::span<const LoopRecord> loop_records() {
  return kRecords;
}

std::optional<LoopRecord> find_loop_record(std::string_view kernel, int compute_capability) {
  const std::string wanted = without_spaces(kernel);
  std::optional<LoopRecord> best;
  for (const LoopRecord& record : kRecords) {
    if (record.compute_capability > compute_capability) continue;
    if (best && record.compute_capability <= best->compute_capability) continue;
    if (without_spaces(record.kernel) == wanted) best = record;
  }
  return best;
}

}  // namespace model
