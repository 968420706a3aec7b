#include "lesson/figure_lines.h"

#include <regex>
#include <string_view>

namespace lesson {

namespace {

std::string unescaped(std::string xml) {
  const std::pair<const char*, const char*> entities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : entities) {
    for (std::size_t at = 0; (at = xml.find(entity, at)) != xml.npos; ++at) {
      xml.replace(at, std::string_view(entity).size(), character);
    }
  }
  return xml;
}

// The file that now shows what `file` showed: itself, or the one that its stage shares with others.
// Empty if there is none.
std::string today(const std::string& file, const Findings& findings) {
  if (findings.contains(file)) return file;
  static const std::regex of_stages(R"((.*/)stage([\d-]+)-([a-z]+)\.svg)");
  std::smatch was, is;
  if (!std::regex_match(file, was, of_stages)) return "";
  const std::string first = was[2].str().substr(0, was[2].str().find('-'));
  for (const auto& [other, finding] : findings) {
    if (!std::regex_match(other, is, of_stages) || is[1] != was[1] || is[3] != was[3]) continue;
    if (("-" + is[2].str() + "-").find("-" + first + "-") != std::string::npos) return other;
  }
  return "";
}

}  // namespace

Findings findings_in(const std::filesystem::path& folder) {
  static const std::regex desc("<desc>([^<]*)</desc>");
  Findings findings;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".svg") continue;
    for (const std::string& line : read_lines(entry.path())) {
      std::smatch match;
      if (!std::regex_search(line, match, desc)) continue;
      findings[(folder / entry.path().filename()).string()] = unescaped(match[1]);
      break;
    }
  }
  return findings;
}

Lines renew_figure_lines(Lines& text, const Findings& findings) {
  Lines left;
  std::map<std::string, int> shown;  // the line that shows it
  for (const Chapter& chapter : chapters(text)) {
    for (const Figure& figure : chapter.figures) {
      const std::string at = "line " + std::to_string(figure.line) + ": " + figure.file;
      const std::string file = today(figure.file, findings);
      if (file.empty()) {
        left.push_back(at + " no longer exists; show another figure, or remove the line");
        continue;
      }
      if (const auto [before, first] = shown.try_emplace(file, figure.line); !first) {
        left.push_back(
            at + " is " + file + " now, which line " + std::to_string(before->second) +
            " shows; remove the line");
        continue;
      }
      text[figure.line - 1] = "![" + findings.at(file) + "](" + file + ")";
    }
  }
  for (const auto& [file, finding] : findings) {
    if (!shown.contains(file)) {
      left.push_back("no line shows this figure: ![" + finding + "](" + file + ")");
    }
  }
  return left;
}

}  // namespace lesson
