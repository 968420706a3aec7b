#include "lab/remedy.h"

#include "lab/measure.h"
#include "lab/worst_line.h"
#include "model/refusal.h"
#include "model/stage.h"

namespace lab {

namespace {

// Traces a sample of the blocks without looking for hazards; the stage's own run does that.
Row traced_row(
    const Problem& p, const model::Gpu& gpu, const model::StageTable& table,
    const model::Stage& stage, const model::Variant& variant) {
  const Means means{{&gpu, machine::Blocks::kSample, /*hazards=*/false}};
  Floats result;
  Row row{measure(p, {.traced = gemm_of(table, variant)}, means, result)};
  row.stage = &stage;
  annotate(row, reinterpret_cast<const void*>(p.launched(table, variant).kernel.function));
  return row;
}

// The later request wastes less, and takes less: where it is as dear and only does more at a time,
// the request of the stage at hand is mended by nothing that its picture could show.
bool costs_less(const model::LineCounts& later, const model::LineCounts& line) {
  const auto each = [](const model::LineCounts& of) {
    return static_cast<double>(of.pieces) / static_cast<double>(of.requests);
  };
  return waste(later) < waste(line) && each(later) < each(line);
}

}  // namespace

std::optional<Remedy> find_remedy(
    const Problem& problem, const model::Gpu& gpu, const model::StageTable& table, const Row& row) {
  const model::LineCounts* worst = worst_line(row);
  if (worst == nullptr) return std::nullopt;
  for (const model::Stage& stage : table.stages) {
    if (stage.number <= row.number || stage.variants.empty()) continue;
    try {
      const model::Variant& variant =
          model::comparable_variant(*row.variant, stage, gpu, problem.M, problem.N);
      const Row later = traced_row(problem, gpu, table, stage, variant);
      const model::LineCounts* same = same_request(later, *worst);
      if (same == nullptr || !costs_less(*same, *worst)) continue;
      return Remedy{stage.number, stage.name, *same};
    } catch (const model::Refusal&) {
      continue;
    }
  }
  return Remedy{};
}

}  // namespace lab
