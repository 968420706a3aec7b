// What Nsight Compute printed: its CSV, read.
#pragma once

#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace profile {

struct NcuLaunch {
  std::string kernel;                         // as ncu spells it
  std::vector<std::optional<double>> values;  // one for each metric asked for; none: "n/a", missing
};

// Reads what `ncu --csv --page raw --metrics ...` printed, together with whatever the profiled
// program printed. Throws Refusal where there is no such table in it, or a line is cut off.
std::vector<NcuLaunch> read_ncu(std::istream& csv, std::span<const std::string_view> metrics);

// Whether ncu means the kernel that C++ spells like `ours`: "void tile<(int)32, (bool)1>(int, ...)"
// is "tile<32, true>".
bool same_kernel(const std::string& from_ncu, const char* ours);

// The metrics as `ncu --metrics` takes them, separated by commas.
std::string joined_metrics(std::span<const std::string_view> metrics);

}  // namespace profile
