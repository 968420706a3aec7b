// Trials beside each other, in words: what conclusions are made of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/experiment.h"

namespace experiments {

using Trials = std::span<const Trial>;

// Two speeds as near as this are called equal: events repeat within a percent or so.
inline constexpr double kSame = 0.02;
bool same(double a, double b);

double speed_of(const Trial& trial);  // 0 where it has none
const Trial& fastest(Trials trials);
const Trial& slowest(Trials trials);

// "5.98 TFLOP/s", or where nothing was timed "a ceiling of 5.98 TFLOP/s".
std::string pace(const Trial& trial);
// How `a` goes beside `b`: "1.32 times as fast as", "as fast as".
std::string beside(const Trial& a, const Trial& b);

double percent_of(const Trial& trial);  // its occupancy; 0 where that is not known
// "occupancy falls from 100 to 33 %"
std::string course_of_occupancy(const Trial& from, const Trial& to);

std::string stage_of(const Trial& trial);  // "stage 5"
std::vector<Trial> of_stage(Trials trials, int number);
std::vector<int> stage_numbers(Trials trials);  // each once, in order

std::string joined(const std::vector<std::string>& parts, const char* between, const char* last);
std::string listed(const std::vector<std::string>& parts);  // "1, 2 and 3"

}  // namespace experiments
