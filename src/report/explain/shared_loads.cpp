#include <algorithm>

#include "report/explain/sections.h"
#include "report/explain/words.h"
#include "text/numbers.h"

namespace report {

namespace {

std::string place(int line, int helper_line) {
  return line == 0         ? "?"
         : helper_line > 0 ? text::printed("%d, in %d", line, helper_line)
                           : text::printed("%d", line);
}

std::string grouped_or_dash(const std::optional<std::int64_t>& count) {
  return count ? text::grouped(*count) : "-";
}

// "32 LDS + 8 LDS.128", of the code.
std::string instructions(const model::CompiledLine& line) {
  constexpr const char* kNames[] = {"LDS.8", "LDS.16", "LDS", "LDS.64", "LDS.128"};
  std::string text;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (line.by_bytes[i] == 0) continue;
    text += (text.empty() ? "" : " + ") + text::printed("%d %s", line.by_bytes[i], kNames[i]);
  }
  return text;
}

std::string as_compiled(const lab::Row& row, text::Style style) {
  const model::CompiledLoads& compiled = *row.shared_loads->compiled;
  if (compiled.lines.empty()) return "";
  const auto columns = [](const std::string& where, const std::string& arrays,
                          const std::string& requests, const std::string& wavefronts,
                          const std::string& made_requests, const std::string& made_wavefronts,
                          const std::string& made) {
    const std::string line = text::printed(
        "  %-10s %-12s %10s %11s %11s %11s  %s", where.c_str(), arrays.c_str(), requests.c_str(),
        wavefronts.c_str(), made_requests.c_str(), made_wavefronts.c_str(), made.c_str());
    return text::shortened(line, text::report_width()) + "\n";
  };
  std::string text = heading(
      "Its loads from shared memory as nvcc compiled them for " + row.shared_loads->architecture +
          " (in the traced blocks)",
      style);
  text += columns("", "", "as written", "", "as compiled", "", "in the code");
  text += columns("line", "", "requests", "wavefronts", "requests", "wavefronts", "");
  std::int64_t requests = 0, wavefronts = 0;
  for (const model::CompiledLine& line : compiled.lines) {
    std::string arrays;
    for (const std::string& array : line.arrays) arrays += (arrays.empty() ? "" : ", ") + array;
    text += columns(
        place(line.line, line.helper_line), text::shortened(arrays, 12),
        text::grouped(line.requests), text::grouped(line.wavefronts),
        grouped_or_dash(line.compiled_requests), grouped_or_dash(line.compiled_wavefronts),
        instructions(line));
    requests += line.requests;
    wavefronts += line.wavefronts;
  }
  if (compiled.lines.size() > 1) {
    text += columns(
        "all", "", text::grouped(requests), text::grouped(wavefronts),
        grouped_or_dash(compiled.requests()), grouped_or_dash(compiled.wavefronts()), "");
  }
  if (!compiled.requests() || !compiled.wavefronts()) {
    text += verdict(
        "-: cannot be told. The code does not say how often a warp makes these loads, or which "
        "array each of them reads.");
  }
  return text;
}

std::string that_may_be_merged(const lab::Row& row, text::Style style) {
  const std::vector<model::MergeableLine> lines = model::mergeable_lines(*row.counts);
  if (lines.empty()) return "";
  std::string text = heading("Loads from shared memory that the compiler may merge", style);
  for (const model::MergeableLine& line : lines) {
    const std::string where = place(line.line, line.helper_line);
    text += line.share == 1
                ? text::printed(
                      "  line %s, %s: %d loads in one, %.2f instead of %.2f wavefronts\n",
                      where.c_str(), line.array.c_str(), line.loads, line.wavefronts_merged,
                      line.wavefronts)
                : text::printed(
                      "  line %s, %s: %d loads in one, of %.0f %% of the line's loads\n",
                      where.c_str(), line.array.c_str(), line.loads, 100 * line.share);
  }
  return text +
         verdict(
             "Each warp loads neighbouring words, and all its lanes are aligned alike. If the "
             "compiler also unrolls the loop around them, it merges them. " +
             row.shared_loads->why_unknown);
}

}  // namespace

std::string shared_loads_of(const lab::Row& row, text::Style style) {
  if (!row.shared_loads || !row.counts) return "";
  return row.shared_loads->compiled ? as_compiled(row, style) : that_may_be_merged(row, style);
}

}  // namespace report
