// The times of kernels over sizes: as CSV, and as a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/measurement.h"

namespace bench {

struct Speed {
  int size;                  // M = N = K
  std::optional<int> stage;  // empty: not a stage
  std::string name;
  std::string device;               // where it ran
  std::optional<lab::Timing> time;  // of it the median, the quartiles, the runs, and `partial`
  std::string note;                 // why there is no time, or what else is to be known
};

double tflops(const Speed& speed);  // needs a time

std::string csv_of(const std::vector<Speed>& speeds);

// What csv_of() wrote. Throws std::invalid_argument, with a sentence.
std::vector<Speed> read_speeds(std::string_view csv);

// The stages and cuBLAS in what ./gemm_steps --format csv wrote of a product of square matrices.
// What ran on the CPU is left out: it ran once.
std::vector<Speed> speeds_of_run(std::string_view csv);

std::string table_of(const std::vector<Speed>& speeds);

// " 5 2D thread tiling": as wide as the longest stage's name.
std::string label_of(const Speed& speed);

}  // namespace bench
