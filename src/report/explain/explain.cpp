#include "report/explain/explain.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "report/explain/sections.h"
#include "report/quiz.h"
#include "text/numbers.h"

namespace report {

namespace {

struct Section {
  const char* name;
  std::vector<Part> (*explain)(const Explained&);
  bool holds_counts;  // and so comes after the reader's predictions
};

constexpr Section kSections[] = {
    {"idea", explain_idea, false},          {"diff", explain_diff, false},
    {"kernel", explain_kernel, true},       {"tiles", explain_tiles, false},
    {"counts", explain_counts, true},       {"occupancy", explain_occupancy, true},
    {"ceiling", explain_ceiling, true},     {"time", explain_time, true},
    {"questions", explain_questions, true}, {"answers", explain_answers, true}};

constexpr auto kNames = [] {
  std::array<const char*, std::size(kSections)> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSections[i].name;
  return names;
}();

std::string title(const lab::Row& row, text::Style style) {
  const bool is_stage = row.number >= 0 && !row.launch;
  std::string text = is_stage ? text::printed("Stage %d: ", row.number) + row.name : row.name;
  if (row.variant && is_stage) text += text::printed(" (%s)", row.variant->name);
  return text::coloured(text::shortened(text, text::report_width()), text::Colour::bold, style) +
         "\n" + text::repeated("─", text::report_width()) + "\n";
}

// A diff as Markdown colours it: the sign stands in the first column, the number after it.
std::string signs_first(const std::string& body) {
  constexpr std::size_t kSign = 6;
  std::string text;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    const bool numbered = line.size() > kSign && std::isdigit(static_cast<unsigned char>(line[4]));
    text += (numbered ? line[kSign] + line.substr(0, kSign) + line.substr(kSign + 1) : line) + "\n";
  }
  return text;
}

// A heading of the second level, and the lines as they stand in a fence of code.
std::string as_markdown(const Part& part) {
  if (part.kind == Part::prose) return "\n" + part.text;
  const std::size_t end = part.text.find('\n', 1);
  const std::string head = part.text.substr(1, end - 1), body = part.text.substr(end + 1);
  if (part.kind == Part::table) return "\n## " + head + "\n" + body;
  return "\n## " + head + "\n\n```" + (part.kind == Part::diff ? "diff" : "text") + "\n" +
         (part.kind == Part::diff ? signs_first(body) : body) + "```\n";
}

void print_lines(std::FILE* out, const std::string& text) {
  // Columns end in spaces where their last cell is empty.
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::fprintf(
        out, "%s\n", text::without_trailing_spaces(text.substr(begin, end - begin)).c_str());
  }
}

}  // namespace

std::span<const char* const> explained_sections() {
  return kNames;
}

bool explain(
    std::FILE* out, const lab::Run& run, const lab::Row& row, text::Style style,
    const Explaining& how) {
  const bool all = how.sections.empty();
  const Explained explained{
      run, row, style, all && !row.launch, how.markdown ? Format::markdown : Format::table};
  const auto wanted = [&](const Section& section) {
    if (all) return section.explain != explain_answers;
    return std::find(how.sections.begin(), how.sections.end(), section.name) != how.sections.end();
  };
  const auto print = [&](const Section& section) {
    if (!wanted(section)) return;
    for (const Part& part : section.explain(explained)) {
      if (part.text.empty()) continue;
      print_lines(out, how.markdown ? as_markdown(part) : part.text);
    }
  };
  const std::string head = title(row, style);
  print_lines(out, how.markdown ? "# " + head.substr(0, head.find('\n') + 1) : head);
  if (!how.quiz_from || !row.stage || !row.variant || !row.counts) {
    for (const Section& section : kSections) print(section);
    return true;
  }
  for (const Section& section : kSections) {
    if (!section.holds_counts) print(section);
  }
  if (!quiz(how.quiz_from, out, run, row)) return false;
  for (const Section& section : kSections) {
    if (section.holds_counts) print(section);
  }
  return true;
}

}  // namespace report
