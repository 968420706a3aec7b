// What multiplies on each device, and how fast it is.
#pragma once

#include <string>

#include "cluster/schedule.h"
#include "flags/flags.h"
#include "lab/problem.h"
#include "model/error.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace cluster {

struct Local {
  std::string name;                     // "stage 11"
  std::string words;                    // "stage 11, balanced"
  const model::Stage* stage = nullptr;  // null: cuBLAS in fp32
  const model::Variant* variant = nullptr;
  lab::Gemm gemm = {};  // empty: cuBLAS, which the devices call
  model::Precision precision = model::kFp32;
};

// As --local says: cuBLAS, which needs a GPU, or the last stage of the ladder that rounds no worse
// than fp32 and runs on `gpu`, with tiles that suit `part`. Throws a Refusal if there is none.
Local choose_local(
    flags::Local asked, const model::StageTable& table, const model::Gpu& gpu, bool on_gpu,
    Shape part);

// The speed of one GPU before it is measured, or where it cannot be: as recorded at the largest
// size, or the GPU's peak.
struct Speed {
  double tflops;
  std::string source;
};
Speed known_speed(const Local& local, const model::Gpu& gpu);

}  // namespace cluster
