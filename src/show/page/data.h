// The page's other data, besides recorded blocks, as JSON: for its calculators and predictions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/measure.h"
#include "lab/run.h"
#include "model/stage.h"

namespace page {

// A JSON array. A number is itself; [d, n] repeats n numbers, one by one, from d places before:
// 4, 4, 4, 4 is [4,[1,3]]. src/show/page/recording.js reads it.
std::string packed(std::span<const std::int64_t> numbers);

// {gpus, kernels}: every GPU of the table, as src/show/page/rules.js takes it; and the threads,
// registers and shared memory of each stage's kernels, by compute capability.
std::string calculator_data(const model::StageTable& traced);

// The time in ms in which the row's variant computes a large product by the model, with waiting,
// and for how much of it in % each unit is busy; "null" if no block fits. src/show/page/race.js
// reads it.
inline constexpr int kRaceSide = 4096;  // M, N and K
std::string race_data(
    const model::StageTable& traced, const lab::Run& run, lab::Row row, lab::LongProduct& large);

// The counts and the questions of the row's stage with their values, the names that a formula may
// use, and `race`. The members are read by src/show/page/predict.js.
std::string prediction_data(const lab::Run& run, const lab::Row& row, const std::string& race);

}  // namespace page
