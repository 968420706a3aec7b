// A run, its GPU, its results, its bounds and its hazards in words, for every kind of report.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/error.h"
#include "model/gpus.h"
#include "model/warp_access.h"
#include "show/report/known.h"

namespace report {

// Of a row that stood in: why, and what ran (lab::Row::stood_in).
inline const char* stand_in_words(int stood_in) {
  return stood_in == 1 ? "fp16 parts could lose too much of this A and B, so tf32 parts were "
                         "multiplied instead"
                       : "A or B has an infinity, a NaN or a number below 2^-114, which no parts "
                         "hold, so stage 11's kernel multiplied them as they are";
}

// Of a row that was not checked (lab::Row::unfit_data).
inline constexpr const char* kUnfitData =
    "not checked: it needs finite data, and A or B has an infinity, a NaN or a number that is "
    "rounded to an infinity; stages 0 to 11 and 21 take all data";

// Problem, tiles that were chosen for a small C, GPU, driver and command, one line each: the facts
// that a recorded table needs.
std::string about(const KnownRun& known);

// Which product is counted and which is checked, if they differ (lab::Run::checked).
std::string checked_words(const lab::Run& run);

std::string tflops_words(double tflops);  // "48.9", "0.00028"

// "NAME is wrong: row 3, column 5 is 1.5, but should be 2". `error` has a first wrong element.
std::string wrong_sentence(const std::string& name, const model::Error& error);

// "SM 1980 MHz throughout, 655 W (at most 671) of 700 W, not throttled"
std::string clocks_words(const model::DeviceState& state);

// "52 readings in 480 ms", and what the power is the average of.
std::string readings_words(const model::DeviceState& state);

// "the power limit and heat"; "" if there is none.
std::string reasons_words(const std::vector<model::Throttle>& throttles);

// One sentence: what, where (lines, block, threads, byte), and the usual remedy. `remedy` replaces
// it if an exercise may not allow it, such as an atomic or another barrier; an empty one leaves it
// out.
std::string hazard_sentence(
    const model::Hazard& hazard, const lab::Run& run, const lab::Row& row,
    const std::optional<std::string>& remedy = {});

// Where in a kernel to look for it, before any line or thread is named.
std::string hazard_place(const model::Hazard& hazard, const lab::Run& run);

// "(3, 1)", and "(3, 1, 0)" if there are several in the third direction: a block's place in a grid
// `of` that size, or a thread's in its block.
std::string place_in(std::int64_t number, std::array<unsigned, 3> of);

// Prints every hazard, after "gemm_steps: " or the name in `program`, and every note after "note:
// ". Returns whether there is a hazard.
bool report_hazards(const char* program, const lab::Run& run, std::FILE* out = stderr);

}  // namespace report
