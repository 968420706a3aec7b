// Hazards in words.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "lab/run.h"
#include "model/counts.h"

namespace report {

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
