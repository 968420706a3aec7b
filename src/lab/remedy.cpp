#include "lab/remedy.h"

#include "lab/worst_line.h"
#include "model/refusal.h"
#include "trace/trace.h"

namespace lab {

namespace {

// A sample of its blocks, without a look for hazards: that is what the stage's own run is for.
Row traced_row(
    const Problem& p, const model::Gpu& gpu, const model::StageTable& table,
    const model::Stage& stage) {
  const model::Variant& variant = stage.variants.front();
  Floats result = p.C;
  const auto bytes = [](const Floats& matrix) { return matrix.size() * sizeof(float); };
  const machine::GlobalArray arrays[] = {
      {"A", p.A.data(), bytes(p.A)},
      {"B", p.B.data(), bytes(p.B)},
      {"C", result.data(), bytes(result), true}};
  const machine::Machine machine{&gpu, machine::Blocks::kSample, /*hazards=*/false};
  Row row;
  row.stage = &stage;
  row.counts = trace::trace(machine, arrays, [&] {
    table.run(variant, p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, result.data());
  });
  const int K_read = p.alpha == 0 ? 0 : p.K;
  const model::KernelRef& kernel =
      table.kernel_for(variant, p.N, K_read, p.A.data(), p.B.data(), result.data());
  annotate(row, reinterpret_cast<const void*>(kernel.function));
  return row;
}

}  // namespace

std::optional<Remedy> find_remedy(
    const Problem& problem, const model::Gpu& gpu, const model::StageTable& table, const Row& row) {
  const model::LineCounts* worst = worst_line(row);
  if (worst == nullptr) return std::nullopt;
  for (const model::Stage& stage : table.stages) {
    if (stage.number <= row.number || stage.variants.empty()) continue;
    try {
      const Row later = traced_row(problem, gpu, table, stage);
      const model::LineCounts* same = same_request(later, *worst);
      if (same == nullptr || waste(*same) >= waste(*worst)) continue;
      return Remedy{stage.number, stage.name, *same};
    } catch (const model::Refusal&) {
      continue;
    }
  }
  return Remedy{};
}

}  // namespace lab
