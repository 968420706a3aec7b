// A whole program on this machine's GPU, with a clock around each of its launches
// (profile/timed_launches.cu).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/measurement.h"

namespace profile {

struct GpuRun {
  std::map<std::string, lab::Timing> times;  // of all launches, by the kernel's name in C++
  std::string note;                          // if it did not end as expected: a sentence
};

struct GpuProgram {
  std::string path;  // absolute
  std::vector<std::string> arguments;
  std::string folder;  // in which it runs; empty: this one
};

// Runs it without input, and without its output. It should end with `exit_code` within `limit_s`
// seconds.
GpuRun run_on_gpu(const GpuProgram& program, int exit_code, double limit_s);

// The time of the kernel that is `name` in C++ syntax. Nothing if it did not run.
std::optional<lab::Timing> time_of(const GpuRun& run, const std::string& name);

}  // namespace profile
