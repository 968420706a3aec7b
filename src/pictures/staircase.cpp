#include "pictures/staircase.h"

#include "model/ceiling.h"

namespace pictures {

namespace {

double tensor_roof(const model::Gpu& gpu, const model::Stage& stage) {
  if (!runs_on_gpu(stage)) return 0;
  const model::Multiplier multiplier = stage.variants.front().multiplier;
  return multiplier == model::Multiplier::ffma ? 0 : model::peak_tflops(gpu, multiplier);
}

}  // namespace

bool runs_on_gpu(const model::Stage& stage) {
  return !stage.variants.empty();
}

Staircase staircase_of(
    std::span<const model::Stage> stages, const RecordedLadder& measured, const model::Gpu& gpu) {
  Staircase staircase{measured.size, measured.of(-1).tflops, {}};
  bool follows = false;  // a stage on the GPU
  for (const model::Stage& stage : stages) {
    const RecordedSpeed speed = measured.of(stage.number);
    if (speed.tflops == 0) continue;
    const bool on_gpu = runs_on_gpu(stage);
    staircase.stairs.push_back(
        {&stage, speed.tflops, speed.cublas_percent, follows ? speed.times_before : 0,
         tensor_roof(gpu, stage)});
    follows |= on_gpu;
  }
  return staircase;
}

}  // namespace pictures
