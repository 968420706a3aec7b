// Reads the CSV output of Nsight Compute.
#pragma once

#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace profile {

struct NcuLaunch {
  std::string kernel;  // as ncu spells it
  // One for each requested metric; none: "n/a" or missing.
  std::vector<std::optional<double>> values;
};

// Reads the output of `ncu --csv --page raw --metrics ...` together with the profiled program's own
// output. Throws a Refusal if it contains no such table, or if a line is incomplete.
std::vector<NcuLaunch> read_ncu(std::istream& csv, std::span<const std::string_view> metrics);

// ncu's name without what repeats in all of them: "void tile<(int)32, (bool)1>(int, ...)" is
// "tile<32, 1>".
std::string short_name(const std::string& from_ncu);

// Whether ncu's name means the kernel that is `ours` in C++ syntax: "void tile<(int)32,
// (bool)1>(int, ...)" is "tile<32, true>".
bool same_kernel(const std::string& from_ncu, const char* ours);

// The metrics for `ncu --metrics`, separated by commas.
std::string joined_metrics(std::span<const std::string_view> metrics);

}  // namespace profile
