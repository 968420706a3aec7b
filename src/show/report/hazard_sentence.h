// Hazards in words.
#pragma once

#include <cstdio>
#include <string>

#include "lab/run.h"
#include "model/counts.h"

namespace report {

// One sentence: what, where (lines, block, threads, byte), and what usually mends it.
std::string hazard_sentence(const model::Hazard& hazard, const lab::Run& run, const lab::Row& row);

// Where in a kernel to look for it, before any line or thread is named.
std::string hazard_place(const model::Hazard& hazard, const lab::Run& run, const lab::Row& row);

// Names every hazard, after "gemm_steps: " or what `program` is, and every note after "note: ".
// Returns whether there is a hazard.
bool report_hazards(const char* program, const lab::Run& run, std::FILE* out = stderr);

}  // namespace report
