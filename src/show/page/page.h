// --page: the lesson, or a run, as one self-contained page: the template, its style and scripts,
// and the data that they show.
#pragma once

#include <string>
#include <vector>

#include "flags/flags.h"
#include "model/stage.h"
#include "show/step/scene.h"

namespace page {

// The player's data: the first block of the scene.
struct ShownScene {
  std::string name, idea;
  int stage = -1;              // -1: it is not a stage
  int M = 0, N = 0, K = 0;     // C (M x N) = A (M x K) * B (K x N); 0: it is not a product
  int BM = 0, BN = 0, BK = 0;  // the block's tile, if it is known
  model::Multiplier multiplier = model::Multiplier::ffma;  // if it is a tensor core, the page shows
                                                           // which lane holds which element
  step::StepScene scene;
};

// "scenes" and, because their sentences repeat, "texts". src/show/page/recording.js reads the
// members and explains them.
std::string scenes_data(const std::vector<ShownScene>& scenes);

struct LessonPage {
  std::string title;
  std::string verdict;                  // one sentence, if there is nothing to complain about
  std::vector<std::string> complaints;  // a sentence each: hazards, wrong results, faults
  std::vector<ShownScene> scenes;
  std::vector<std::string> predictions;  // prediction_data() of each scene, if they are stages
  std::string calculators;               // their data as JSON; empty: the page has none
  std::string charts;                    // HTML; empty: the page has none
  std::string pictures;                  // HTML below the player; users' text is escaped in it
};

// Needs no server, no other file and no network.
std::string lesson_html(const LessonPage& lesson);

// The stages that --stage names, or all, on one problem: 128 x 128 x 128, or 32 x 32 x 32 on the
// paper GPU, unless --size, --m, --n or --k change it. `traced` is a table whose kernels have the
// tracer's hooks. Returns the exit code: 0. Throws a Refusal if no stage has a kernel or the file
// cannot be written.
int write_page(const flags::Flags& flags, const model::StageTable& traced);

}  // namespace page
