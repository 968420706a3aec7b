// The times of kernels over sizes: measured on the CPU, as CSV and as a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/run.h"

namespace bench {

struct Speed {
  int size;                  // M = N = K
  std::optional<int> stage;  // empty: not a stage
  std::string name;
  std::string device;               // where it ran
  std::optional<lab::Timing> time;  // uses its median, quartiles, runs, and `partial`
  std::string note;                 // why there is no time, or another note
};

double tflops(const Speed& speed);  // needs a time

std::string csv_of(const std::vector<Speed>& speeds);

// The stages and cuBLAS in the output of ./gemm_steps --format json for square matrices. Rows of
// the CPU are left out, because they ran only once. Throws an exception for any other text.
std::vector<Speed> speeds_of_run(std::string_view json);

std::string table_of(const std::vector<Speed>& speeds);

// OpenBLAS, found at run time: the program also runs where it is missing.

class OpenBlas {
 public:
  explicit OpenBlas(const std::string& library = "libopenblas.so.0");
  ~OpenBlas();
  OpenBlas(const OpenBlas&) = delete;
  OpenBlas& operator=(const OpenBlas&) = delete;

  // A sentence if it cannot be used; else empty.
  const std::string& why_not() const { return why_not_; }
  std::string kernels() const;  // its name of the CPU for which it chose them; empty: not known

  // C = A * B on that many threads, size x size, row-major.
  void multiply(int threads, int size, const float* A, const float* B, float* C) const;

 private:
  void* library_;  // null: missing
  std::string why_not_;
};

// The times of the CPU's rows: the serial loop, openmp_gemm and OpenBLAS.

// For C = A * B, size x size. The serial loop computes only the first rows of a large C, and its
// time is scaled up. A missing library has a row that says so.
std::vector<Speed> time_cpu(int size, const OpenBlas& openblas);

}  // namespace bench
