// What the staircase shows, in numbers: the picture and the page draw the same.
#pragma once

#include <span>
#include <vector>

#include "model/gpus.h"
#include "model/stage.h"
#include "pictures/recorded_speeds.h"

namespace pictures {

// A stage that was recorded.
struct Stair {
  const model::Stage* stage;
  double tflops;
  double cublas_percent;
  double times_before;  // the stage before it; 0 for the first one on the GPU, and where it is not
                        // known
  double roof_tflops;   // of the tensor cores with its instruction; 0 if it does not use them
};

struct Staircase {
  int size;              // M = N = K
  double cublas_tflops;  // in fp32
  std::vector<Stair> stairs;
};

Staircase staircase_of(
    std::span<const model::Stage> stages, const RecordedLadder& measured, const model::Gpu& gpu);

bool runs_on_gpu(const model::Stage& stage);

}  // namespace pictures
