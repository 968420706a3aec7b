// The page's other data, besides recorded blocks, as JSON: for its calculators, charts and
// predictions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/stage.h"
#include "show/pictures/recorded_gpus.h"

namespace page {

// A JSON array. A number is itself; [d, n] repeats n numbers, one by one, from d places before:
// 4, 4, 4, 4 is [4,[1,3]]. src/show/page/recording.js reads it.
std::string packed(std::span<const std::int64_t> numbers);

// {gpus, kernels, tiles}: every GPU of the table; the threads, registers and shared memory of each
// stage's kernels, by compute capability; and the tile sizes and formulas of the stages whose
// threads copy one tile at a time, with what their compiled kernels need of an SM's units.
// src/show/page/rules.js takes the GPUs and the formulas as they are.
std::string calculator_data(const model::StageTable& traced);

// Whether the tile calculator knows the kernels of a stage, and how many floats they move at once.
bool has_plain_tiles(const model::Stage& stage);
int floats_at_once(const model::Stage& stage);

// {gpus}: for each recorded GPU its name and `sizes`, for each of these the stairs, cuBLAS, roofs,
// peaks, and the stages' dots. The operations per byte are traced here, with the tiles that the
// stage has on that GPU at that size.
std::string chart_data(
    const model::StageTable& traced,
    const std::vector<pictures::RecordedGpu>& recorded = pictures::recorded_gpus());

// The counts and the questions of the row's stage with their values, and the names that a formula
// may use. The members are read by src/show/page/predict.js.
std::string prediction_data(const lab::Run& run, const lab::Row& row);

}  // namespace page
