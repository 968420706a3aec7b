#include "report/kernel_diff.h"

#include <algorithm>
#include <cstdlib>

namespace report {

namespace {

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos) return "";
  return line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
}

bool carries_nothing(const DiffLine& line) {
  return trimmed(line.text).find_first_not_of("{}") == std::string_view::npos;
}

bool changed(const DiffLine& line) {
  return (line.before == 0 || line.after == 0) && !carries_nothing(line);
}

}  // namespace

std::vector<DiffLine> line_diff(
    const std::vector<std::string>& before, const std::vector<std::string>& after) {
  const std::size_t rows = before.size(), columns = after.size();
  const auto same = [&](std::size_t i, std::size_t j) {
    return trimmed(before[i]) == trimmed(after[j]);
  };
  // common[i][j]: the most lines that before[i...] and after[j...] have in common.
  std::vector<std::vector<int>> common(rows + 1, std::vector<int>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      common[i][j] =
          same(i, j) ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<DiffLine> diff;
  std::size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && same(i, j)) {
      diff.push_back({static_cast<int>(i + 1), static_cast<int>(j + 1), after[j]});
      ++i, ++j;
    } else if (i < rows && (j == columns || common[i + 1][j] >= common[i][j + 1])) {
      diff.push_back({static_cast<int>(i + 1), 0, before[i]});
      ++i;
    } else {
      diff.push_back({0, static_cast<int>(j + 1), after[j]});
      ++j;
    }
  }
  return diff;
}

std::vector<DiffLine> shortened_diff(const std::vector<DiffLine>& diff, int context) {
  const int lines = static_cast<int>(diff.size());
  std::vector<bool> kept(diff.size(), false);
  for (int at = 0; at < lines; ++at) {
    if (!changed(diff[at])) continue;
    for (int near = std::max(0, at - context); near <= std::min(lines - 1, at + context); ++near) {
      const bool both = diff[near].before != 0 && diff[near].after != 0;
      if (near == at || (both && !carries_nothing(diff[near]))) kept[near] = true;
    }
  }
  std::vector<DiffLine> shortened;
  bool gap = false;
  for (int at = 0; at < lines; ++at) {
    if (!kept[at]) {
      gap = true;
      continue;
    }
    if (gap && !shortened.empty()) shortened.push_back({0, 0, ""});
    gap = false;
    shortened.push_back(diff[at]);
  }
  return shortened;
}

}  // namespace report
