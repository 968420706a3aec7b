// --page: the lesson, or a run, as one self-contained page: the template, its style and scripts,
// and the data that they show.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "lab/measure.h"
#include "lab/run.h"
#include "model/stage.h"
#include "show/step/scene.h"

namespace page {

// The player's data: the first block of the scene.
struct ShownScene {
  std::string name, idea;
  int stage = -1;              // -1: it is not a stage
  int M = 0, N = 0, K = 0;     // C (M x N) = A (M x K) * B (K x N); 0: it is not a product
  int BM = 0, BN = 0, BK = 0;  // the block's tile, if it is known
  step::StepScene scene;
};

// A JSON array. A number is itself; [d, n] repeats n numbers, one by one, from d places before:
// 4, 4, 4, 4 is [4,[1,3]]. src/show/page/recording.js reads it.
std::string packed(std::span<const std::int64_t> numbers);

// {gpus, kernels}: every GPU of the table, as src/show/page/rules.js takes it; and the threads,
// registers and shared memory of each stage's kernels, by compute capability.
std::string calculator_data(const model::StageTable& traced);

// The time in ms in which the row's variant computes a large product by the model, with waiting,
// and for how much of it in % each unit is busy; "null" if no block fits. src/show/page/compare.js
// reads it.
inline constexpr int kRaceSide = 4096;  // M, N and K
std::string race_data(
    const model::StageTable& traced, const lab::Run& run, lab::Row row, lab::LongProduct& large);

// The counts and the questions of the row's stage with their values, the names that a formula may
// use, and `race`. The members are read by src/show/page/predict.js.
std::string prediction_data(const lab::Run& run, const lab::Row& row, const std::string& race);

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

// All of its data that scripts read, as JSON: of the scenes "scenes" and, because their sentences
// repeat, "texts". src/show/page/recording.js reads the members and explains them.
std::string data_of(const LessonPage& lesson);

// Needs no server, no other file and no network.
std::string lesson_html(const LessonPage& lesson);

// The stages that --stage names, or all, on one problem: 128 x 128 x 128, or 32 x 32 x 32 on the
// paper GPU, unless --size, --m, --n or --k change it. `traced` is a table whose kernels have the
// tracer's hooks. Returns the exit code: 0. Throws a Refusal if no stage has a kernel or the file
// cannot be written.
int write_page(const flags::Flags& flags, const model::StageTable& traced);

}  // namespace page
