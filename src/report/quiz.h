// A quiz: asks the reader for predictions before the counts are shown.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "lab/run.h"

namespace report {

// What a reader is asked to predict of a traced stage.
struct AskedCount {
  std::string what;  // "GMEM loads per thread"
  double value;
};
// Those of `row` that are not 0.
std::vector<AskedCount> asked_counts(const lab::Row& row);

// For every count of `row` (a stage that was traced): what it is of, a line from `in`, and how far
// that is off. A line is a number or a formula of the stage's sizes ("2*K"); what is neither is
// said to be, and asked for again; an empty line gives up that count. Returns false, after a
// sentence, where `in` ends before the last answer.
bool quiz(std::FILE* in, std::FILE* out, const lab::Run& run, const lab::Row& row);

}  // namespace report
