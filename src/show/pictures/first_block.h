// For tests: a stage, and what its first block does.
#pragma once

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/gpus.h"
#include "show/pictures/pictures.h"

namespace pictures {

// With the stage's first variant, in a product of one tile of C and `tiles` tiles along K, traced
// for the H200.
inline TracedStage first_block(const model::Stage& stage, int tiles) {
  const model::Variant& v = stage.variants[0];
  const lab::Problem p = lab::random_problem({v.BM, v.BN, tiles * v.BK}, 1, 0, 1);
  model::Recorder recorder{.blocks = {0}};
  lab::traced(p, stage_table_traced, v, {.gpu = model::find_gpu("H200"), .recorder = &recorder});
  return {&stage, &v, requests_of_block(recorder.launches.at(0), 0, p.M, p.N, p.K)};
}

}  // namespace pictures
