// Comparisons of trials in words, as parts of conclusions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/experiment.h"

namespace experiments {

using Trials = std::span<const Trial>;

// Speeds that differ by less than this count as equal, because timings repeat only within about a
// percent.
inline constexpr double kSame = 0.02;
bool same(double a, double b);

double speed_of(const Trial& trial);  // 0 if it has none
const Trial& fastest(Trials trials);
const Trial& slowest(Trials trials);

// "5.98 TFLOP/s", or without a time "a ceiling of 5.98 TFLOP/s".
std::string pace(const Trial& trial);
// The speed of `a` relative to `b`: "1.32 times as fast as", "as fast as".
std::string beside(const Trial& a, const Trial& b);

double percent_of(const Trial& trial);  // its occupancy; 0 if unknown
// "occupancy falls from 100 to 33 %"
std::string course_of_occupancy(const Trial& from, const Trial& to);

std::string stage_of(const Trial& trial);  // "stage 5"
std::vector<Trial> of_stage(Trials trials, int number);
std::vector<int> stage_numbers(Trials trials);  // each once, in order

std::string joined(const std::vector<std::string>& parts, const char* between, const char* last);
std::string listed(const std::vector<std::string>& parts);  // "1, 2 and 3"

}  // namespace experiments
