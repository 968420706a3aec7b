// Two or three questions a stage, whose answers are computed.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace report {

struct Question {
  int stage;
  const char* text;
  const char* answer;   // a formula: src/report/predicted.h's names, and those of answer_of()
  const char* unit;     // of the answer
  const char* because;  // in one or two sentences
};

// Of that stage, in the order in which they are asked.
std::vector<Question> questions_of(int stage);

// "= formula = numbers = value unit". Beside formula_names() a formula may name what was traced or
// worked out for `row`: `sectors` (a GMEM load request), `wavefronts` (a SMEM load request),
// `conflicts` (of all SMEM requests, in the traced blocks), `blocks_per_sm` and `warps_per_sm`.
// Empty where the row lacks what the formula names.
std::string answer_of(const Question& question, const lab::Run& run, const lab::Row& row);

}  // namespace report
