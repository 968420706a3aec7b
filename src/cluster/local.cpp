#include "cluster/local.h"

#include <utility>

#include "machine/grid.h"
#include "model/ceiling.h"
#include "model/choice.h"
#include "model/refusal.h"
#include "pictures/recorded_gpus.h"
#include "text/numbers.h"

namespace cluster {

namespace {

const model::Stage* best_fp32_stage(const model::StageTable& table, const model::Gpu& gpu) {
  const model::Stage* best = nullptr;
  for (const model::Stage& stage : table.stages) {
    const bool is_fp32 = stage.precision.u_in <= model::kSplitTf32.u_in;
    const bool runs = !stage.variants.empty() && model::why_not_run(stage, gpu).empty();
    if (is_fp32 && runs) best = &stage;
  }
  return best;
}

// The kernels of the copy for the CPU, as the GPU would run them.
lab::Gemm on_cpu(lab::Gemm gemm, const model::Gpu& gpu) {
  return
      [gemm = std::move(gemm), gpu](
          int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
        machine::run({.gpu = &gpu, .hazards = false}, [&] { gemm(M, N, K, alpha, A, B, beta, C); });
      };
}

}  // namespace

Local choose_local(
    flags::Local asked, const model::StageTable& table, const model::Gpu& gpu, bool on_gpu,
    Shape part) {
  if (asked == flags::Local::cublas) return {.name = "cuBLAS fp32", .words = "cuBLAS fp32"};
  const model::Stage* const stage = best_fp32_stage(table, gpu);
  if (stage == nullptr) throw model::Refusal("--gpus: no stage in fp32 runs on the " + gpu.name);
  const model::Variant& variant = model::suited_variant(*stage, gpu, part.M, part.N);
  // With 0 SMs there is a block for each tile. Blocks then end all the time, and a broadcast gets
  // an SM at once. And no tile is cut: its parts would hand their sums on in memory of one GPU.
  const lab::Gemm gemm = lab::gemm_of(table, variant, 0);
  return {
      .name = text::printed("stage %d", stage->number),
      .words = text::printed("stage %d, %s", stage->number, stage->name),
      .stage = stage,
      .variant = &variant,
      .gemm = on_gpu ? gemm : on_cpu(gemm, gpu),
      .precision = stage->precision};
}

Speed known_speed(const Local& local, const model::Gpu& gpu) {
  constexpr int kCublas = -1;  // pictures/recorded_gpus.h
  for (const pictures::RecordedGpu& recorded : pictures::recorded_gpus()) {
    if (recorded.gpu.name != gpu.name || recorded.ladders.empty()) continue;
    const pictures::RecordedLadder& ladder = recorded.ladders.back();
    const double tflops = ladder.of(local.stage == nullptr ? kCublas : local.stage->number).tflops;
    if (tflops == 0) continue;
    return {
        tflops, text::printed(
                    "one %s with %s TFLOP/s, as recorded at %d x %d x %d", gpu.name.c_str(),
                    text::brief(tflops).c_str(), ladder.size, ladder.size, ladder.size)};
  }
  const double peak = model::peak_tflops(
      gpu, local.variant == nullptr ? model::Multiplier::ffma : local.variant->multiplier);
  return {
      peak, text::printed(
                "one %s at its peak of %s TFLOP/s, since no speed of it is recorded",
                gpu.name.c_str(), text::brief(peak).c_str())};
}

}  // namespace cluster
