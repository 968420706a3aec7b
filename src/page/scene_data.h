// A recorded block as JSON, for the page's player.
#pragma once

#include <string>

#include "model/stage.h"
#include "step/scene.h"

namespace page {

// What the player shows, of the first block of the scene.
struct ShownScene {
  std::string name, idea;
  int stage = -1;              // -1: it is not a stage
  int M = 0, N = 0, K = 0;     // C (M x N) = A (M x K) * B (K x N); 0: it is no product
  int BM = 0, BN = 0, BK = 0;  // the block's tile, as far as it is known
  model::Multiplier multiplier = model::Multiplier::ffma;  // if it is a tensor core, the page shows
                                                           // which lane holds which element
  step::StepScene scene;
};

// The members are read by src/page/recording.js, which says what they mean.
std::string scene_data(const ShownScene& shown);

}  // namespace page
