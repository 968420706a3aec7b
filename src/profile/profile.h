// Nsight Compute's counts beside the traced ones, its unit utilization beside the model's, and its
// view of the caches. And the times of a whole program's launches on this machine's GPU.
#pragma once

#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/run.h"

namespace profile {

// The metrics for `ncu --metrics`, separated by commas: counts, units or caches, which the
// functions below print.
std::string ncu_metrics(std::string_view kind);

// The contents of the CSV that ncu wrote. Throws a Refusal, also if it has no table.
std::string read_ncu_file(const std::string& path);
bool has_caches(const std::string& ncu_csv);  // whether the metrics are those of caches

// Prints ncu's counts, units or caches, whichever the CSV has the metrics of, beside those of
// `run`. It reads the output of `ncu --csv --page raw --print-units base --metrics ...` together
// with the profiled program's own output. Returns whether the two agree. Throws a Refusal if it is
// not such a CSV, or if a row of `run` is not traced in full and counts are compared.
bool print_ncu(std::FILE* out, const std::string& ncu_csv, const lab::Run& run);

// Reads the CSV output of Nsight Compute.

struct NcuLaunch {
  std::string kernel;  // as ncu spells it
  // One for each requested metric; none: "n/a" or missing.
  std::vector<std::optional<double>> values;
};

// Throws a Refusal if it contains no such table, or if a line is incomplete.
std::vector<NcuLaunch> read_ncu(const std::string& csv, std::span<const std::string_view> metrics);

// ncu's name without what repeats in all of them: "void tile<(int)32, (bool)1>(int, ...)" is
// "tile<32, 1>".
std::string short_name(const std::string& from_ncu);

// Whether ncu's name means the kernel that is `ours` in C++ syntax: "void tile<(int)32,
// (bool)1>(int, ...)" is "tile<32, true>".
bool same_kernel(const std::string& from_ncu, const char* ours);

// A whole program on this machine's GPU, with a clock around each of its launches
// (profile/timed_launches.cu).

struct GpuRun {
  std::map<std::string, lab::Timing> times;  // of all launches, by the kernel's name in C++
  std::string note;                          // a sentence if it did not end as expected
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
