#include "report/explain/sections.h"

#include <algorithm>
#include <sstream>

#include "lab/run.h"
#include "report/explain/words.h"
#include "report/kernel_diff.h"
#include "text/numbers.h"

namespace report {

namespace {

std::vector<std::string> source_lines(const lab::Row& row, int first, int last) {
  std::vector<std::string> lines;
  std::istringstream source(row.source);
  std::string line;
  for (int number = 1; number <= last && std::getline(source, line); ++number) {
    if (number >= first) lines.push_back(line);
  }
  return lines;
}

// Which lines stand before a kernel's first statement or say what divides what: parameters of the
// template and the function, and static_assert.
std::vector<bool> head_lines(const std::vector<std::string>& kernel) {
  std::vector<bool> head(kernel.size(), false);
  bool in_signature = true, in_assert = false;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    in_assert = in_assert || kernel[i].find("static_assert") != std::string::npos;
    head[i] = in_signature || in_assert;
    if (kernel[i].ends_with("{")) in_signature = false;
    if (kernel[i].ends_with(";")) in_assert = false;
  }
  return head;
}

// The lines that carry the idea: the kernel beside that of the stage before. The name of the kernel
// is no difference.
std::vector<DiffLine> kernels_beside_each_other(const lab::Row& row, bool whole) {
  std::vector<std::string> before = source_lines(row, row.before_first, row.before_last);
  const std::vector<std::string> after = source_lines(row, row.source_first, row.source_last);
  const auto plain_name = [](std::string_view name) { return name.substr(0, name.find('<')); };
  const std::string old_name(plain_name(row.before_kernel)),
      name(plain_name(lab::kernel_name(row)));
  for (std::string& line : before) {
    const std::size_t at = line.find(" " + old_name + "(");
    if (at != line.npos) line.replace(at + 1, old_name.size(), name);
  }
  std::vector<DiffLine> all = line_diff(before, after);
  if (whole) {
    const std::vector<bool> old_head = head_lines(before), head = head_lines(after);
    std::erase_if(all, [&](const DiffLine& line) {
      return line.after > 0 ? head[line.after - 1] : old_head[line.before - 1];
    });
  }
  return all;
}

// Of more than `most` lines first those that did not change are left out, then the old ones.
std::vector<DiffLine> shortened(const std::vector<DiffLine>& all, std::size_t most) {
  std::vector<DiffLine> shown = shortened_diff(all, 1);
  if (shown.size() > most) shown = shortened_diff(all, 0);
  if (shown.size() > most) {
    std::erase_if(shown, [](const DiffLine& line) { return line.after == 0; });
  }
  return shown;
}

}  // namespace

std::vector<Part> explain_diff(const Explained& explained) {
  constexpr std::size_t kLinesOfWhole = 12;
  const auto& [run, row, style, whole, format] = explained;
  if (!row.stage || !row.variant || row.before_first == 0 || row.source_first == 0) return {};
  const std::vector<DiffLine> all = kernels_beside_each_other(row, whole);
  std::vector<DiffLine> shown = whole ? shortened(all, kLinesOfWhole) : shortened_diff(all, 1);
  const bool left_out = whole && shown.size() > kLinesOfWhole;
  if (left_out) shown.resize(kLinesOfWhole - 1);
  std::string text = heading(
      text::printed("What changed since stage %d, ", row.before_number) + row.before_name, style);
  for (const DiffLine& line : shown) {
    if (line.before == 0 && line.after == 0) {
      text += "        …\n";
      continue;
    }
    const int number =
        line.after > 0 ? row.source_first + line.after - 1 : row.before_first + line.before - 1;
    const char sign = line.before == 0 ? '+' : line.after == 0 ? '-' : ' ';
    const std::string shown_line =
        text::shortened(text::printed("%5d %c ", number, sign) + line.text, text::report_width());
    text += (sign == ' '
                 ? shown_line
                 : text::coloured(
                       shown_line, sign == '+' ? text::Colour::green : text::Colour::red, style)) +
            "\n";
  }
  if (left_out) {
    text += "  ... and more: --section diff shows every changed line\n";
  }
  return {{text, Part::diff}};
}

}  // namespace report
