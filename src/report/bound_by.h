// What holds a kernel back, and how fast it is, in the words of the table and of --explain.
#pragma once

#include <string>

#include "lab/run.h"

namespace report {

std::string tflops_words(double tflops);  // "48.9", "0.00028"

// "issue 86": the unit and the percent of the time that it is busy; "latency SMEM 68" where no unit
// is busy enough to be the reason.
std::string bound_by_words(const lab::BoundBy& bound);

std::string ceiling_words(const model::Ceiling& ceiling);  // "≤ 33.5 SMEM"

}  // namespace report
