#include "cli/ladder.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cpu_reference.h"
#include "flags/select.h"
#include "gpu/gpu.h"
#include "lab/device.h"
#include "lab/measure.h"
#include "lab/run.h"
#include "model/stage.h"
#include "trace/source_lines.h"

namespace cli {

namespace {

// The data that every row of the table needs.
struct Ladder {
  const flags::Flags& flags;
  const StageTables& tables;
  const lab::Problem& problem;
  const lab::Run& run;
  const lab::Reference reference;
  std::optional<lab::OnGpu> on_gpu;  // empty: traced on the CPU only
  lab::Floats cublas;                // cuBLAS's fp32 result, empty without a GPU

  lab::Means means() {
    return {
        .on_gpu = on_gpu ? &*on_gpu : nullptr,
        .repetitions = flags.reps.value_or(0),
        .reference = &reference,
        .cublas = &cublas};
  }
};

// Finds the same variant in another copy of the table.
const model::Variant& same(
    const model::Variant& variant, const model::StageTable& from, const model::StageTable& to) {
  for (std::size_t s = 0; s < from.stages.size(); ++s) {
    for (std::size_t v = 0; v < from.stages[s].variants.size(); ++v) {
      if (&from.stages[s].variants[v] == &variant) return to.stages[s].variants[v];
    }
  }
  throw std::logic_error("a variant of another table");
}

lab::Row serial_row(Ladder& ladder, const model::Stage& stage, lab::Floats& result) {
  constexpr double kAboutASecond = 0x1p29;
  lab::Row row{
      lab::measure_on_cpu(ladder.problem, serial_gemm, kAboutASecond, ladder.means(), result)};
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  return row;
}

lab::Row openmp_row(Ladder& ladder) {
  constexpr double kAFewSeconds = 0x1p36;
  lab::Floats result;
  lab::Row row{
      lab::measure_on_cpu(ladder.problem, openmp_gemm, kAFewSeconds, ladder.means(), result)};
  row.name = "OpenMP CPU";
  return row;
}

lab::Row cublas_row(
    Ladder& ladder, const char* name, const lab::Kernel& cublas, lab::Floats& result) {
  lab::Row row{lab::measure(ladder.problem, cublas, ladder.means(), result)};
  row.name = name;
  return row;
}

// cuBLAS in fp32 and tf32, and in bf16 beside a variant that multiplies bf16.
std::vector<lab::Row> cublas_rows(Ladder& ladder, bool with_bf16) {
  lab::Floats result;
  std::vector<lab::Row> rows;
  rows.push_back(cublas_row(
      ladder, "cuBLAS fp32", {.gpu = std::bind_front(gpu::cublas_sgemm, false)}, ladder.cublas));
  rows.push_back(cublas_row(
      ladder, "cuBLAS tf32",
      {.gpu = std::bind_front(gpu::cublas_sgemm, true), .precision = model::kTf32}, result));
  if (!with_bf16) return rows;
  rows.push_back(cublas_row(
      ladder, "cuBLAS bf16",
      {.gpu = std::bind_front(gpu::cublas_bf16, false),
       .gpu_again = std::bind_front(gpu::cublas_bf16, true),
       .precision = model::kBf16},
      result));
  return rows;
}

bool is_explained(const flags::Flags& flags) {
  return flags.explain && flags.format != report::Format::json &&
         flags.format != report::Format::csv;
}

const void* traced_kernel(const Ladder& ladder, const model::Variant& traced) {
  return reinterpret_cast<const void*>(
      ladder.problem.launched(ladder.tables.traced, traced).kernel.function);
}

// Finds the source lines of the previous stage's kernel, to show what changed.
void annotate_stage_before(const Ladder& ladder, lab::Row& row) {
  for (const model::Stage& stage : ladder.tables.traced.stages) {
    if (stage.number != row.before_number || stage.variants.empty()) continue;
    const model::Variant& variant =
        row.variant->contrast
            ? model::first_variant(stage, ladder.run.gpu)
            : model::comparable_variant(
                  *row.variant, stage, ladder.run.gpu, ladder.problem.M, ladder.problem.N);
    const trace::SourceRange lines = trace::kernel_lines(traced_kernel(ladder, variant));
    row.before_name = stage.name;
    row.before_kernel = ladder.problem.launched(ladder.tables.traced, variant).kernel.name;
    row.before_first = lines.first;
    row.before_last = lines.last;
  }
}

// Annotates the kernel's lines if the output will show them.
void annotate_row(const Ladder& ladder, const model::Variant& traced, lab::Row& row) {
  const bool as_json = ladder.flags.format == report::Format::json || !ladder.flags.json.empty();
  if (!ladder.flags.explain && !as_json && row.counts->hazards.empty()) return;
  lab::annotate(row, traced_kernel(ladder, traced));
  if (!is_explained(ladder.flags)) return;
  row.remedy = lab::find_remedy(ladder.problem, ladder.run.gpu, ladder.tables.traced, row);
  annotate_stage_before(ladder, row);
}

lab::Measurement measure_variant(
    Ladder& ladder, const model::Stage& stage, const model::Variant& variant, lab::Floats& result) {
  const lab::Problem& p = ladder.problem;
  const int sms = ladder.run.gpu.sms;
  if (!model::is_traceable(stage, ladder.run.gpu)) return {};
  const auto& [own, traced, plain] = ladder.tables;
  const lab::Grid grid = lab::grid(ladder.run, variant);
  lab::Progress progress(stage.name, std::int64_t{grid.x} * grid.y);
  lab::Means means = ladder.means();
  means.machine = {
      .gpu = &ladder.run.gpu,
      .blocks =
          ladder.flags.trace == lab::Trace::all ? machine::Blocks::kAll : machine::Blocks::kSample,
      .hazards = ladder.flags.hazards,
      .progress = [&](std::int64_t done) { progress.advance(done); }};
  const bool is_traced = ladder.flags.trace != lab::Trace::none;
  lab::Kernel kernel{
      .traced = is_traced ? lab::gemm_of(traced, same(variant, own, traced), sms) : lab::Gemm{},
      .plain = lab::gemm_of(plain, same(variant, own, plain), sms),
      .precision = model::precision_of(stage, variant),
      .sample = lab::sample_of(p, own, variant, sms)};
  if (model::why_not_run(stage, ladder.run.gpu).empty()) {
    kernel.gpu = lab::gemm_of(own, variant, sms);
    kernel.gpu_again = lab::gemm_again_of(own, variant, sms);
  }
  return lab::measure(p, kernel, means, result);
}

lab::Row stage_row(
    Ladder& ladder, const model::Stage& stage, const model::Variant& variant, lab::Floats& result) {
  lab::Row row{measure_variant(ladder, stage, variant, result)};
  row.number = stage.number;
  if (&stage != ladder.tables.own.stages.data()) row.before_number = (&stage - 1)->number;
  if (variant.contrast) row.before_number = stage.number;
  row.name = variant.contrast ? variant.contrast->name : stage.name;
  row.stage = &stage;
  row.why_not_run = model::why_not_run(stage, ladder.run.gpu);
  const lab::Launched launched = ladder.problem.launched(ladder.tables.own, variant);
  row.aligned = launched.aligned;
  row.variant = &launched.variant;
  // Without its instructions the compiler made another kernel of it, which is not launched.
  if (row.why_not_run.empty()) {
    row.occupancy = lab::occupancy_of(ladder.flags, ladder.run, *row.variant, launched.kernel);
  }
  if (row.counts) annotate_row(ladder, same(variant, ladder.tables.own, ladder.tables.traced), row);
  return row;
}

}  // namespace

void climb(
    const flags::Flags& flags, const StageTables& tables,
    const std::vector<const model::Stage*>& stages, const lab::Problem& problem, lab::Run& run,
    lab::Floats& result) {
  Ladder ladder{flags, tables, problem, run, lab::compute_reference(problem), std::nullopt, {}};
  const auto selected = [&](const model::Stage& stage) -> const model::Variant& {
    return flags::select_variant(stage, flags.variant, run.gpu, problem.M, problem.N);
  };
  std::vector<lab::Row> yardsticks;
  if (run.gpu_present) {
    ladder.on_gpu.emplace(problem);
    const bool any_bf16 = std::any_of(stages.begin(), stages.end(), [&](const auto* stage) {
      return !stage->variants.empty() && model::multiplies_bf16(selected(*stage));
    });
    yardsticks = cublas_rows(ladder, any_bf16);
  }
  for (const model::Stage* stage : stages) {
    if (stage->variants.empty()) {
      run.rows.push_back(serial_row(ladder, *stage, result));
    } else {
      run.rows.push_back(stage_row(ladder, *stage, selected(*stage), result));
    }
    const bool whole_ladder = flags.stage.empty();
    if (whole_ladder && stage->variants.empty()) run.rows.push_back(openmp_row(ladder));
  }
  run.rows.insert(run.rows.end(), yardsticks.begin(), yardsticks.end());
}

}  // namespace cli
