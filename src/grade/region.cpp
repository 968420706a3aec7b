#include "grade/region.h"

#include <algorithm>
#include <set>
#include <vector>

#include "grade/kernel_rules.h"
#include "grade/lines.h"

namespace grade {

namespace {

// The lines between the markers.
std::vector<Range> regions_of(const std::vector<std::string>& lines, const std::string& name) {
  std::vector<Range> regions;
  bool inside = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (line == kRegionBegins) {
      if (inside) refuse(name, i, "a region begins inside another; restore the marker lines");
      regions.push_back({i + 1, i + 1});
      inside = true;
    } else if (line == kRegionEnds) {
      if (!inside) refuse(name, i, "a region ends that never began; restore the marker lines");
      regions.back().end = i;
      inside = false;
    }
  }
  if (inside) {
    refuse(
        name, regions.back().first - 1,
        std::string("no line \"") + kRegionEnds + "\" follows; restore it");
  }
  return regions;
}

bool is_blank(const std::vector<std::string>& lines, const std::vector<Range>& regions) {
  for (const Range& region : regions) {
    for (std::size_t i = region.first; i < region.end; ++i) {
      if (!trimmed(lines[i]).empty()) return false;
    }
  }
  return true;
}

}  // namespace

std::string assembled(
    const std::string& skeleton, const std::string& answer, const std::string& answer_name) {
  const std::vector<std::string> frame = lines_of(skeleton), own = lines_of(answer);
  const std::vector<Range> holes = regions_of(frame, "skeleton");
  const std::vector<Range> regions = regions_of(own, answer_name);
  if (holes.size() != regions.size()) {
    throw model::Refusal(
        answer_name + ": " + std::to_string(regions.size()) + " times a line \"" + kRegionBegins +
        "\", but the exercise has " + std::to_string(holes.size()) +
        "; begin again with a copy of its kernel.cu");
  }
  if (holes.empty()) return skeleton;
  if (is_blank(own, regions)) {
    throw NothingWritten(
        answer_name + ": nothing written yet; your code goes between the lines \"" + kRegionBegins +
        "\" and \"" + kRegionEnds + "\"");
  }
  const std::set<std::string> helpers = helpers_in(frame);
  std::string text;
  // Line `line` of the answer is what follows. Names with quotes or backslashes cannot be said.
  std::string said = answer_name;
  std::erase_if(said, [](char c) { return c == '"' || c == '\\' || c == '\n'; });
  const auto says_line = [&](std::ptrdiff_t line) {
    text +=
        "#line " + std::to_string(std::max<std::ptrdiff_t>(1, line + 1)) + " \"" + said + "\"\n";
  };
  const auto append = [&](const std::vector<std::string>& lines, std::size_t first,
                          std::size_t end) {
    for (std::size_t i = first; i < end; ++i) text += lines[i] + "\n";
  };
  std::size_t done = 0;
  std::ptrdiff_t shift = 0;  // from the skeleton's line numbers to the answer's
  for (std::size_t r = 0; r < holes.size(); ++r) {
    check_kernel_code(own, regions[r], answer_name, helpers);
    shift = static_cast<std::ptrdiff_t>(regions[r].first - holes[r].first);
    says_line(static_cast<std::ptrdiff_t>(done) + shift);
    append(frame, done, holes[r].first);
    // In a scope of its own: what it declares is not what the skeleton means behind it.
    text += "{\n";
    says_line(static_cast<std::ptrdiff_t>(regions[r].first));
    append(own, regions[r].first, regions[r].end);
    text += "}\n";
    shift = static_cast<std::ptrdiff_t>(regions[r].end - holes[r].end);
    done = holes[r].end;
  }
  says_line(static_cast<std::ptrdiff_t>(done) + shift);
  append(frame, done, frame.size());
  return text;
}

std::string emptied(const std::string& kernel) {
  const std::vector<std::string> lines = lines_of(kernel);
  std::string text;
  std::size_t done = 0;
  for (const Range& region : regions_of(lines, "kernel")) {
    for (; done < region.first; ++done) text += lines[done] + "\n";
    done = region.end;
  }
  for (; done < lines.size(); ++done) text += lines[done] + "\n";
  return text;
}

}  // namespace grade
